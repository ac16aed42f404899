/*
 * main.c: trueflame COMMAND ...: finds the command and runs it.
 */
#include "cli/command.h"
#include "config.h"

#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"record", "run a program and write down where every instruction went", command_record},
    {"report", "tables: functions, the call tree, callers and callees, lines", command_report},
    {"view", "one self-contained page to look at in a browser", command_view},
    {"export", "write a profile for another tool: folded, pprof, speedscope, ...", command_export},
    {"diff", "what changed between two profiles, exactly; a verdict for CI", command_diff},
    {"info", "totals, parts, processes, threads, modules, repairs of a profile", command_info},
    {"import", "make a profile of another profiler's data", command_import},
    {"merge", "make one profile of several", command_merge},
    {"symbolize", "look up names for a profile recorded with --raw", command_symbolize},
    {"trampoline", "run a Python whose functions perf can see", command_trampoline},
};

#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static int print_help(FILE *stream)
{
    fputs("trueflame: exact flame graphs: every instruction, every call path\n\n"
          "  trueflame record [options] [--] COMMAND [ARGS...]\n"
          "  trueflame COMMAND [options] FILE\n\n",
          stream);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-11s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`trueflame COMMAND --help` tells a command's options.\n", stream);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_BAD_INPUT;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return print_help(stdout);
    if (!strcmp(argv[1], "--version")) {
        puts("trueflame " TRUEFLAME_VERSION);
        return 0;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (!strcmp(argv[1], commands[i].name))
            return cli_run(&commands[i], argc - 1, argv + 1);
    if (argv[1][0] == '-')
        return cli_fail("unknown option '%s'; see trueflame --help", argv[1]);
    return cli_fail("unknown command '%s'; see trueflame --help", argv[1]);
}
