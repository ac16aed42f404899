/*
 * record_node.c: `record --node`: JavaScript functions become frames.
 *
 * Node names the code that it makes when it is asked to, in a perf map that it writes as it goes;
 * interpreted functions too, once each has a piece of code of its own. Both are options that Node
 * takes from the environment, so that they reach the Nodes that a program starts.
 *
 * V8 also begins a log in the current folder then, which nobody asked for: record_tidy.c removes it.
 */
#include "cli/record.h"
#include "common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_NAMES "--perf-basic-prof --interpreted-frames-native-stack"

void record_prepare_node(void)
{
    const char *old = getenv("NODE_OPTIONS");
    char *options = memory_format("%s%s" NODE_NAMES, old ? old : "", old && *old ? " " : "");

    setenv("NODE_OPTIONS", options, 1);
    free(options);
}

static bool is_node(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;

    return !strcmp(name, "node") || !strcmp(name, "nodejs");
}

void record_hint_node(const struct record_options *options)
{
    const char *environment = getenv("NODE_OPTIONS");

    if (options->quiet || options->node || !is_node(options->command[0]))
        return;
    if (environment && strstr(environment, "--perf-"))
        return;
    for (char *const *argument = options->command; *argument; argument++)
        if (!strncmp(*argument, "--perf-", 7))
            return;
    fputs("trueflame: JavaScript functions have no names in this run: record --node gives them\n",
          stderr);
}
