/*
 * record_write.c: what the engine left becomes a profile with names.
 */
#include "cli/record.h"
#include "common/memory.h"
#include "profile/raw.h"
#include "profile/transform.h"
#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int record_exit_status(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* There may be a hundred thousand words. */
static char *join(char *const *words)
{
    size_t size_bytes = 1;

    for (char *const *word = words; *word; word++)
        size_bytes += strlen(*word) + 1;
    char *joined = memory_allocate(size_bytes), *end = joined;
    *end = 0;
    for (char *const *word = words; *word; word++) {
        if (word != words)
            *end++ = ' ';
        end = stpcpy(end, *word);
    }
    return joined;
}

static void fill_meta(struct profile *profile, const struct record_options *options)
{
    char host[256] = "";
    char *command = join(options->command);

    profile->meta.command = profile_intern(profile, command);
    free(command);
    gethostname(host, sizeof host - 1);
    profile->meta.host = profile_intern(profile, host);
    profile->meta.date_seconds = time(NULL);
}

/* Functions of options and of the programs' own requests. */
static void apply_skips(struct profile *profile, const struct record_options *options,
                        char *const *requested)
{
    const char **objects = NULL;
    size_t count = 0, capacity = 0;

    for (size_t i = 0; i < options->skip_object_count; i++)
        *array_push(objects, count, capacity) = options->skip_objects[i];
    for (; *requested; requested++)
        *array_push(objects, count, capacity) = *requested;
    struct skip_rules rules = {
        .objects = objects,
        .object_count = count,
        .functions = options->skip_functions,
        .function_count = options->skip_function_count,
    };
    if (rules.object_count || rules.function_count)
        profile_skip(profile, &rules);
    free(objects);
}

/* The same of several processes is said once. */
static void tell_notes(const struct record_options *options, char *const *notes)
{
    for (char *const *note = notes; *note && !options->quiet; note++) {
        bool told = false;
        for (char *const *earlier = notes; earlier < note && !told; earlier++)
            told = !strcmp(*earlier, *note);
        if (!told)
            fprintf(stderr, "trueflame: %s\n", *note);
    }
}

int record_write(const struct record_options *options, const char *run_folder, bool ended,
                 int wait_status, struct error *error)
{
    struct raw_run run;

    if (raw_read_run(run_folder, &run, error))
        return ERROR;
    struct profile *profile = run.profile;
    if (ended && run.lost_processes)
        fprintf(
            stderr,
            "trueflame: %zu of the processes did not get to write all their counts, for want of "
            "disk space or because they were killed: the profile is without those\n",
            run.lost_processes);
    fill_meta(profile, options);
    if (ended) {
        tell_notes(options, run.notes);
        record_tidy(options, run_folder, profile_string(profile, profile->meta.pids));
        profile->meta.exit_status = record_exit_status(wait_status);
        profile->processes[0].exit_status = profile->meta.exit_status;
        if (profile->meta.ended_early == ENDING_CHECKPOINT)
            profile->meta.ended_early = ENDING_KILLED;
    } else {
        profile->meta.ended_early = ENDING_CHECKPOINT;
        profile->meta.exit_status = -1;
    }
    if (!options->raw)
        profile_symbolize(profile, &(struct symbols_options){0});
    apply_skips(profile, options, run.skip_objects);
    int result = flame_write(profile, options->output, error);
    profile_free(profile);
    raw_run_free(&run);
    return result;
}
