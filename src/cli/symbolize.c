/*
 * symbolize.c: `trueflame symbolize FILE`: names, lines and inlined frames for a profile that has
 * addresses only, or for modules whose debug info has turned up since.
 */
#include "cli/command.h"
#include "common/memory.h"
#include "symbols/symbols.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int print_help(void)
{
    fputs("trueflame symbolize FILE [--debug-dir=DIR]... [-o OUT]\n\n"
          "Gives a profile the names, lines and inlined functions of the programs and libraries\n"
          "in it, if they, or debug files with the same build id, are on this machine. What\n"
          "could not be found is told by `trueflame info`. Without -o, FILE is replaced.\n\n"
          "  --debug-dir=DIR  look here first: for programs and libraries by path or by name,\n"
          "                   for debug files by build id (DIR/.build-id/xx/yyyy.debug) or name\n"
          "  --debuginfod     ask the servers in DEBUGINFOD_URLS for what is not here\n"
          "  -o OUT           the profile to write\n",
          stdout);
    return 0;
}

static int symbolize_file(const char *input, const char *output,
                          const struct symbols_options *options)
{
    struct profile *profile;
    struct error error;

    if (flame_read(input, &profile, &error))
        return cli_fail_error(&error);
    profile_symbolize(profile, options);
    int result = flame_write(profile, output, &error);
    profile_free(profile);
    if (result)
        return cli_fail_error(&error);
    fprintf(stderr, "trueflame: wrote %s\n", output);
    return 0;
}

static int check_directories(const char *const *directories)
{
    struct stat status;

    for (; *directories; directories++)
        if (stat(*directories, &status) < 0 || !S_ISDIR(status.st_mode))
            return cli_fail("--debug-dir=%s: no such directory", *directories);
    return 0;
}

int command_symbolize(int argc, char **argv)
{
    enum { DEBUG_DIRECTORY = 256, DEBUGINFOD };
    static const struct option options[] = {
        {"debug-dir", required_argument, NULL, DEBUG_DIRECTORY},
        {"debuginfod", no_argument, NULL, DEBUGINFOD},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    /* As many as there are arguments, at most, and the NULL at the end. */
    const char **directories = memory_allocate_zeroed((size_t)argc + 1, sizeof *directories);
    struct symbols_options choice = {.debug_dirs = directories};
    const char *output = NULL;
    size_t directory_count = 0;
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
        switch (code) {
        case DEBUG_DIRECTORY:
            directories[directory_count++] = optarg;
            break;
        case DEBUGINFOD:
            choice.debuginfod = true;
            break;
        case 'o':
            output = optarg;
            break;
        case 'h':
            free(directories);
            return print_help();
        default:
            status = cli_fail_option("symbolize", argv, code);
        }
    }
    if (status == 0 && argc - optind != 1)
        status = cli_fail("symbolize: needs one FILE; see trueflame symbolize --help");
    if (status == 0)
        status = check_directories(directories);
    if (status == 0)
        status = symbolize_file(argv[optind], output ? output : argv[optind], &choice);
    free(directories);
    return status;
}
