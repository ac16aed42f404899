/*
 * record_tidy.c: removes what programs left behind only because `record` had asked them for names.
 *
 * Node (--node) and trampolines write a perf map for each process; V8
 * begins a log in the current folder besides. Their names are in the profile by now. What a program
 * writes of its own accord stays.
 */
#include "cli/record.h"
#include "common/memory.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void remove_matching(const char *pattern)
{
    glob_t found;

    if (!glob(pattern, GLOB_NOSORT, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}

/* Did an engine ask a Python for trampolines? */
static bool has_asked(const char *run_folder)
{
    char *path = memory_format("%s/" ENGINE_TRAMPOLINES_FILE, run_folder);
    bool asked = access(path, F_OK) == 0;

    free(path);
    return asked;
}

void record_tidy(const struct record_options *options, const char *run_folder, const char *pids)
{
    bool maps = options->node || options->python == WATCH_TRAMPOLINE ||
                options->python == WATCH_PERF || has_asked(run_folder);
    char *copy = memory_duplicate_string(pids), *rest = copy;

    for (char *pid; (pid = strsep(&rest, " "));) {
        if (!*pid)
            continue;
        char *map = memory_format("/tmp/perf-%s.map", pid);
        char *log = memory_format("isolate-0x*-%s-v8.log", pid);
        if (maps)
            unlink(map);
        if (options->node)
            remove_matching(log);
        free(map);
        free(log);
    }
    free(copy);
}
