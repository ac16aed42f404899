/*
 * start.c: runs a program under the native engine.
 */
#include "common/memory.h"
#include "engines/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define ENGINE "trueflame-native"

_Noreturn static void native_execute(const struct record_options *options, const char *run_folder)
{
    struct engine_arguments arguments = {0};
    char *engine = engine_find("native", ENGINE);

    engine_add(&arguments, ENGINE);
    engine_add(&arguments, memory_format("--run-folder=%s", run_folder));
    if (options->line_detail)
        engine_add(&arguments, "--detail=line");
    if (options->keep_tail_calls)
        engine_add(&arguments, "--tail-calls=keep");
    if (options->start_off)
        engine_add(&arguments, "--start=off");
    if (options->python == WATCH_AUTO) {
        engine_add(&arguments, "--python=yes");
        engine_add(&arguments, memory_format("--python-retry=%d", (int)getpid()));
        engine_add(&arguments, memory_format("--trampolines=%s", options->trampolines));
    }
    if (options->seeds_later)
        engine_add(&arguments, "--python-seed");
    if (options->repeatable)
        engine_add(&arguments, "--repeatable");
    if (options->progress)
        engine_add(&arguments, "--progress");
    if (!options->follow_children)
        engine_add(&arguments, "--children=no");
    engine_add(&arguments, memory_format("--budget=%" PRIu64, options->budget));
    engine_add(&arguments, memory_format("--checkpoint=%" PRIu64, options->checkpoint));
    engine_add(&arguments, memory_format("--max-contexts=%" PRIu64, options->max_contexts));
    engine_add(&arguments, "--");
    engine_add(&arguments, (char *)options->program);
    for (char *const *argument = options->command; *argument; argument++)
        engine_add(&arguments, *argument);
    engine_add(&arguments, NULL);
    execv(engine, arguments.items);
    engine_fail(run_folder, "%s: %s", engine, strerror(errno));
}

const struct engine native_engine = {
    .name = "native",
    .refuses = engine_refuses_rights,
    .execute = native_execute,
};
