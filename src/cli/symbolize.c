/*
 * symbolize.c: `trueflame symbolize FILE`: names for a profile that was recorded with --raw.
 */
#include "cli/command.h"
#include "common/memory.h"
#include "symbols/symbols.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "trueflame symbolize FILE [--debug-dir=DIR]... [-o OUT]\n\n"
    "Looks up names, lines and inlined functions of a profile recorded with --raw, or again with\n"
    "more debug files at hand. Files are found by path and must have the build id recorded.\n"
    "  --debug-dir=DIR   where to look for debug files first (repeatable)\n"
    "  --debuginfod      ask the servers in DEBUGINFOD_URLS for what is not here\n"
    "  -o OUT            the profile to write (FILE itself)\n";

static int symbolize_file(const char *input, const char *output,
                          const struct symbols_options *options)
{
    struct profile *profile;
    struct error error;

    if (flame_read(input, &profile, &error))
        return cli_fail_error(&error);
    profile_symbolize(profile, options);
    int result = profile_check(profile, input, &error);
    if (result == OK)
        result = flame_write(profile, output, &error);
    profile_free(profile);
    return result == OK ? 0 : cli_fail_error(&error);
}

int command_symbolize(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"output", required_argument, NULL, 'o'},
        {"debug-dir", required_argument, NULL, 'd'},
        {"debuginfod", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct symbols_options options = {0};
    const char **folders = NULL, *output = NULL;
    size_t folder_count = 0, folder_capacity = 0;
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":o:h", long_options, NULL)) != -1) {
        switch (code) {
        case 'o':
            output = optarg;
            break;
        case 'd':
            *array_push(folders, folder_count, folder_capacity) = optarg;
            break;
        case 'n':
            options.debuginfod = true;
            break;
        case 'h':
            fputs(help, stdout);
            free(folders);
            return 0;
        default:
            status = cli_fail_option("symbolize", argv, code);
        }
    }
    *array_push(folders, folder_count, folder_capacity) = NULL;
    options.debug_dirs = folders;
    if (status == 0 && argc - optind != 1)
        status = cli_fail("symbolize: needs one FILE; see trueflame symbolize --help");
    if (status == 0)
        status = symbolize_file(argv[optind], output ? output : argv[optind], &options);
    free(folders);
    return status;
}
