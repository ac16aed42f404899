/*
 * import.c: `trueflame import -f FORMAT INPUT -o FILE`: another profiler's data as a profile.
 */
#include "cli/command.h"
#include "common/memory.h"
#include "formats/formats.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct import_format *const formats[] = {
    &import_folded,
    &import_perf,
    &import_callgrind,
    &import_pprof,
};

#define FORMAT_COUNT (sizeof formats / sizeof *formats)

static int print_help(void)
{
    fputs("trueflame import -f FORMAT INPUT -o FILE\n\n"
          "Makes a profile of another profiler's data, to be viewed, reported and diffed here.\n"
          "INPUT - is standard input.\n\n",
          stdout);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        printf("  -f %-10s %s\n", formats[i]->name, formats[i]->summary);
    return 0;
}

static const struct import_format *find_format(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    return NULL;
}

static int import_file(const struct import_format *format, const char *input_path,
                       const char *output_path)
{
    struct file_bytes input;
    struct profile *profile;
    struct error error;

    if (file_read(&input, input_path, &error))
        return cli_fail_error(&error);
    int result = format->read(&input, input_path, &profile, &error);
    file_free(&input);
    if (result == OK)
        result = profile_check(profile, input_path, &error);
    if (result == OK)
        result = flame_write(profile, output_path, &error);
    profile_free(profile);
    return result == OK ? 0 : cli_fail_error(&error);
}

int command_import(int argc, char **argv)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const struct import_format *format = NULL;
    const char *output = NULL;
    int code;

    opterr = 0;
    while ((code = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1) {
        switch (code) {
        case 'f':
            format = find_format(optarg);
            if (!format)
                return cli_fail("import: unknown format '%s'; see trueflame import --help", optarg);
            break;
        case 'o':
            output = optarg;
            break;
        case 'h':
            return print_help();
        default:
            return cli_fail_option("import", argv, code);
        }
    }
    if (argc - optind != 1 || !format || !output)
        return cli_fail("import: needs -f FORMAT, one INPUT and -o FILE; see trueflame import "
                        "--help");
    return import_file(format, argv[optind], output);
}
