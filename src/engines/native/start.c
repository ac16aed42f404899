/*
 * start.c: runs a program under the native engine.
 */
#include "common/memory.h"
#include "engines/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENGINE "trueflame-native"

/* Beside the program in the build folder, or where `make install` put it. */
static char *find_engine(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length > 0) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        char *beside = memory_format("%s/src/engines/native/" ENGINE, self);
        if (!access(beside, X_OK))
            return beside;
        free(beside);
        char *installed = memory_format("%s/../libexec/trueflame/" ENGINE, self);
        if (!access(installed, X_OK))
            return installed;
        free(installed);
    }
    return memory_duplicate_string(ENGINE_FOLDER "/" ENGINE);
}

static const char *native_refuses(const struct record_options *options)
{
    struct stat status;

    if (!stat(options->program, &status) && status.st_mode & (S_ISUID | S_ISGID) && getuid())
        return "the program is set-uid, and would lose its rights";
    return NULL;
}

struct arguments {
    char **items;
    size_t count, capacity;
};

static void add(struct arguments *arguments, char *text)
{
    *array_push(arguments->items, arguments->count, arguments->capacity) = text;
}

_Noreturn static void native_execute(const struct record_options *options, const char *run_folder)
{
    struct arguments arguments = {0};
    char *engine = find_engine();

    add(&arguments, ENGINE);
    add(&arguments, memory_format("--run-folder=%s", run_folder));
    if (options->line_detail)
        add(&arguments, "--detail=line");
    if (options->keep_tail_calls)
        add(&arguments, "--tail-calls=keep");
    if (options->start_off)
        add(&arguments, "--start=off");
    if (options->python == WATCH_AUTO) {
        add(&arguments, "--python=yes");
        add(&arguments, memory_format("--python-retry=%d", (int)getpid()));
        add(&arguments, memory_format("--trampolines=%s", options->trampolines));
    }
    if (options->repeatable)
        add(&arguments, "--repeatable");
    if (options->progress)
        add(&arguments, "--progress");
    if (!options->follow_children)
        add(&arguments, "--children=no");
    add(&arguments, memory_format("--budget=%" PRIu64, options->budget));
    add(&arguments, memory_format("--checkpoint=%" PRIu64, options->checkpoint));
    add(&arguments, memory_format("--max-contexts=%" PRIu64, options->max_contexts));
    add(&arguments, "--");
    add(&arguments, (char *)options->program);
    for (char *const *argument = options->command; *argument; argument++)
        add(&arguments, *argument);
    add(&arguments, NULL);
    execv(engine, arguments.items);
    engine_fail(run_folder, "%s: %s", engine, strerror(errno));
}

const struct engine native_engine = {
    .name = "native",
    .refuses = native_refuses,
    .execute = native_execute,
};
