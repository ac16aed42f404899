/*
 * start.c: runs a program under the Valgrind tool.
 *
 * Valgrind looks for its tools in one folder. Ours is a folder inside the run folder with nothing
 * but a link to the tool, so that neither the build folder nor Valgrind's own need be touched.
 */
#include "common/memory.h"
#include "engines/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOOL "trueflame-amd64-linux"

/* Debian's `valgrind` is a script that adds to the environment and starts this one. */
static const char *valgrind_program(void)
{
    return access(VALGRIND_PROGRAM ".bin", X_OK) ? VALGRIND_PROGRAM : VALGRIND_PROGRAM ".bin";
}

/* Valgrind itself then ends with pages of its own affairs. */
static bool has_little_memory(void)
{
    const uint64_t least = 240u << 20;
    struct rlimit all, data;

    return (!getrlimit(RLIMIT_AS, &all) && all.rlim_max < least) ||
           (!getrlimit(RLIMIT_DATA, &data) && data.rlim_max < least);
}

static const char *valgrind_refuses(const struct record_options *options)
{
    if (access(VALGRIND_PROGRAM, X_OK))
        return "valgrind is not installed";
    if (has_little_memory())
        return "the limit on memory is too small";
    return engine_refuses_rights(options);
}

/* Valgrind gives the main thread at most 16 MB of stack unless told; a program that was given
 * more must have it here too. */
static uint64_t main_stack_bytes(void)
{
    const uint64_t most = (uint64_t)1 << 32;
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur <= 8u << 20)
        return 0;
    return limit.rlim_cur > most ? most : limit.rlim_cur;
}

static void add_options(struct engine_arguments *arguments, const struct record_options *options,
                        const char *run_folder)
{
    engine_add(arguments, "valgrind");
    engine_add(arguments, "--tool=trueflame");
    engine_add(arguments, "-q");
    /* Chasing lets VEX count an instruction it then does not run. */
    engine_add(arguments, "--vex-guest-chase=no");
    /* Unrolled, an instruction that repeats itself would be counted for each turn. */
    engine_add(arguments, "--vex-iropt-unroll-thresh=0");
    engine_add(arguments, "--vgdb=no");
    engine_add(arguments, "--sanity-level=0");
    engine_add(arguments, "--fair-sched=try");
    engine_add(arguments, "--max-threads=4096");
    engine_add(arguments,
               options->follow_children ? "--trace-children=yes" : "--trace-children=no");
    engine_add(arguments, memory_format("--run-folder=%s", run_folder));
    engine_add(arguments, memory_format("--program=%s", options->program));
    engine_add(arguments, options->line_detail ? "--line-detail=yes" : "--line-detail=no");
    engine_add(arguments,
               options->keep_tail_calls ? "--keep-tail-calls=yes" : "--keep-tail-calls=no");
    engine_add(arguments, options->start_off ? "--start-off=yes" : "--start-off=no");
    engine_add(arguments, options->repeatable ? "--repeatable=yes" : "--repeatable=no");
    engine_add(arguments, options->python == WATCH_AUTO ? "--python=yes" : "--python=no");
    if (options->python == WATCH_AUTO) {
        engine_add(arguments, memory_format("--python-retry=%d", (int)getpid()));
        engine_add(arguments, memory_format("--trampolines=%s", options->trampolines));
    }
    engine_add(arguments, options->seeds_later ? "--python-seed=yes" : "--python-seed=no");
    engine_add(arguments, options->progress ? "--progress=yes" : "--progress=no");
    engine_add(arguments, memory_format("--budget=%" PRIu64, options->budget));
    engine_add(arguments, memory_format("--checkpoint=%" PRIu64, options->checkpoint));
    engine_add(arguments, memory_format("--max-contexts=%" PRIu64, options->max_contexts));
    if (main_stack_bytes())
        engine_add(arguments, memory_format("--main-stacksize=%" PRIu64, main_stack_bytes()));
    engine_add(arguments, "--");
}

_Noreturn static void valgrind_execute(const struct record_options *options, const char *run_folder)
{
    struct engine_arguments arguments = {0};
    char *tools = memory_format("%s/tools", run_folder);
    char *link = memory_format("%s/" TOOL, tools);

    if (mkdir(tools, 0700) || symlink(engine_find("valgrind", TOOL), link))
        engine_fail(run_folder, "%s: %s", tools, strerror(errno));
    setenv("VALGRIND_LIB", tools, 1);
    unsetenv("VALGRIND_OPTS");
    personality(ADDR_NO_RANDOMIZE);
    add_options(&arguments, options, run_folder);
    for (char *const *argument = options->command; *argument; argument++)
        engine_add(&arguments, *argument);
    engine_add(&arguments, NULL);
    execv(valgrind_program(), arguments.items);
    engine_fail(run_folder, "%s: %s", valgrind_program(), strerror(errno));
}

const struct engine valgrind_engine = {
    .name = "valgrind",
    .refuses = valgrind_refuses,
    .execute = valgrind_execute,
};
