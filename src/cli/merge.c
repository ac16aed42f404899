/*
 * merge.c: `trueflame merge -o OUT FILE...`: several profiles as one.
 */
#include "cli/command.h"
#include "profile/merge.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "trueflame merge -o OUT FILE...\n\n"
    "Makes one profile of several. Their processes stay apart (--merge-threads=no shows them);\n"
    "everything else shows their sum. Files are read one after the other.\n"
    "  -o OUT   the profile to write\n";

static int merge_files(const char *output, char **paths, int count)
{
    struct profile *into = profile_new();
    struct profile_merger merger;
    struct error error;
    int result = OK;

    merger_start(&merger, into);
    for (int i = 0; i < count && result == OK; i++) {
        struct profile *from;
        result = flame_read(paths[i], &from, &error);
        if (result == OK)
            result = merger_add(&merger, from, paths[i], &error);
        profile_free(from);
    }
    merger_finish(&merger);
    if (result == OK)
        result = profile_check(into, output, &error);
    if (result == OK)
        result = flame_write(into, output, &error);
    profile_free(into);
    return result == OK ? 0 : cli_fail_error(&error);
}

int command_merge(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    const char *output = NULL;
    int code;

    opterr = 0;
    while ((code = getopt_long(argc, argv, ":o:h", options, NULL)) != -1) {
        switch (code) {
        case 'o':
            output = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return cli_fail_option("merge", argv, code);
        }
    }
    if (!output || optind == argc)
        return cli_fail("merge: needs -o OUT and one FILE or more; see trueflame merge --help");
    return merge_files(output, argv + optind, argc - optind);
}
