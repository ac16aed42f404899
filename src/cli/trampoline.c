/*
 * trampoline.c: `trueflame trampoline -- python3 app.py` runs a Python whose functions perf can
 * see.
 *
 * It prepares the environment and becomes the program: nothing stays between perf and Python, and
 * the process keeps its number, by which perf finds the names.
 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "python/environment.h"

static const char usage[] =
    "usage: trueflame trampoline [--names=both|map|jitdump] [--] python3 [ARGS...]\n"
    "       trueflame trampoline --path\n"
    "\n"
    "Runs a Python program, unchanged, so that perf sees its functions:\n"
    "    perf record -k 1 --call-graph dwarf trueflame trampoline -- python3 app.py\n"
    "    perf inject -j -i perf.data -o perf.jit.data && perf report -i perf.jit.data\n"
    "An interpreter built with frame pointers needs neither -k 1, dwarf nor inject:\n"
    "    perf record -g trueflame trampoline -- python3 app.py\n"
    "\n"
    "  --names=both|map|jitdump  write /tmp/perf-PID.map, /tmp/jit-PID.dump, or both (the "
    "default)\n"
    "  --path                    print the directory of the Python package: with it in "
    "PYTHONPATH,\n"
    "                            `python3 -m trueflame_trampoline app.py` works, and so does\n"
    "                            `import trueflame_trampoline`\n";

static int print_path(void)
{
    struct error error;
    char *directory = python_environment_directory(&error);

    if (!directory)
        return cli_fail_error(&error);
    puts(directory);
    free(directory);
    return 0;
}

static int run(char **command, const char *names)
{
    struct error error;

    if (python_environment_check_command(command, &error) != OK ||
        python_environment_prepare(names, &error) != OK)
        return cli_fail_error(&error);
    execvp(command[0], command);
    error_set_errno(&error, "cannot run %s", command[0]);
    return cli_fail_error(&error);
}

int command_trampoline(int argc, char **argv)
{
    const char *names = "both";
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--path") == 0)
            return print_path();
        if (strncmp(argv[i], "--names=", 8) == 0) {
            names = argv[i] + 8;
            continue;
        }
        return cli_fail("trampoline: unknown option '%s'; see trueflame trampoline --help",
                        argv[i]);
    }
    if (strcmp(names, "both") != 0 && strcmp(names, "map") != 0 && strcmp(names, "jitdump") != 0) {
        return cli_fail("trampoline: --names is both, map or jitdump, not '%s'", names);
    }
    if (i == argc) {
        return cli_fail("trampoline: no program to run; see trueflame trampoline --help");
    }
    return run(argv + i, names);
}
