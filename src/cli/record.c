/*
 * record.c: `trueflame record COMMAND`: runs a program and writes its profile.
 *
 *   record_options.c   the command line, the choice of engine
 *   record_run.c       the engine in a child process, the live line, checkpoints
 *   record_python.c    what Pythons are given, and the other way for one that cannot be watched
 *   record_write.c     raw files to a profile with names
 *
 * Everything in between lives in a run folder of its own, which is removed at the end.
 */
#include "cli/command.h"
#include "cli/record.h"
#include "common/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* A fixed environment: the same names in the same order, whatever the caller's has beside them.
 * What is kept is what programs need to be found and to find their own. */
static void fix_environment(void)
{
    static const char *const kept[] = {"PATH", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", NULL};
    static char *fixed[] = {
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "TZ=UTC0",
        "PYTHONHASHSEED=0",
        "PYTHONDONTWRITEBYTECODE=1", /* or the first run compiles what the next one finds */
        "PERL_HASH_SEED=0",
        "PERL_PERTURB_KEYS=0",
        NULL,
    };
    char *values[sizeof kept / sizeof *kept] = {0};

    for (size_t i = 0; kept[i]; i++)
        if (getenv(kept[i]))
            values[i] = memory_format("%s=%s", kept[i], getenv(kept[i]));
    clearenv();
    for (char **entry = fixed; *entry; entry++)
        putenv(*entry);
    for (size_t i = 0; kept[i]; i++)
        if (values[i])
            putenv(values[i]);
}

/* The sentence an engine left that could not start; false: it could. */
static bool read_refusal(const char *run_folder, char *sentence, size_t size)
{
    char *path = memory_format("%s/error", run_folder);
    FILE *file = fopen(path, "r");

    free(path);
    if (!file)
        return false;
    size_t length = fread(sentence, 1, size - 1, file);
    sentence[length] = '\0';
    fclose(file);
    return true;
}

/* Has a process left anything in the run folder but a refusal? */
static bool has_run(const char *run_folder)
{
    DIR *folder = opendir(run_folder);
    bool any = false;

    for (struct dirent *entry; folder && (entry = readdir(folder));)
        any |= entry->d_name[0] != '.' && strcmp(entry->d_name, "error") != 0;
    if (folder)
        closedir(folder);
    return any;
}

/* *again is set where the options were changed, and nothing of the program has run. */
static int record_in(struct record_options *options, const struct engine *engine,
                     const struct engine *otherwise, const char *run_folder, bool *again)
{
    struct error error;
    char sentence[1024];
    int wait_status;

    if (record_run(options, engine, run_folder, &wait_status, &error))
        return cli_fail_error(&error);
    if (read_refusal(run_folder, sentence, sizeof sentence)) {
        if (!otherwise || otherwise->refuses(options) || has_run(run_folder))
            return cli_fail("%s", sentence);
        if (!options->quiet)
            fprintf(stderr, "trueflame: %s: the %s engine runs it\n", sentence, otherwise->name);
        char *path = memory_format("%s/error", run_folder);
        unlink(path);
        free(path);
        return record_in(options, otherwise, NULL, run_folder, again);
    }
    *again = record_needs_other_python(options, run_folder);
    if (*again)
        return OK;
    record_hint_seed(options, run_folder);
    if (record_write(options, run_folder, true, wait_status, &error))
        return cli_fail_error(&error);
    if (!options->quiet)
        fprintf(stderr, "trueflame: wrote %s\n", options->output);
    return record_exit_status(wait_status);
}

/* Finds out now, not after an hour, that the profile cannot be written. What is there stays, and a
 * profile is there only when it is one; errno says why not. */
static bool can_be_written(const char *path)
{
    if (access(path, F_OK) == 0) {
        int file = open(path, O_WRONLY | O_CLOEXEC);
        if (file >= 0)
            close(file);
        return file >= 0;
    }
    char *trial = memory_format("%s.XXXXXX", path); /* as output.c will */
    int file = mkstemp(trial), reason = errno;
    if (file >= 0) {
        close(file);
        unlink(trial);
    }
    free(trial);
    errno = reason;
    return file >= 0;
}

/* Where run folders are made; what the user says, else not in /tmp if there is another place: a
 * program that lists that, as Python does where its script is there and imports something, would
 * count what it finds of this run and of all others. */
static char *choose_temporary(void)
{
    const char *wanted = getenv("TMPDIR");

    if (!wanted || !*wanted)
        wanted = access("/var/tmp", W_OK | X_OK) ? "/tmp" : "/var/tmp";
    return memory_duplicate_string(wanted);
}

static int record_once(struct record_options *options, const struct engine *engine,
                       const struct engine *otherwise, const char *temporary, bool *again)
{
    char *run_folder = memory_format("%s/trueflame-XXXXXX", temporary);

    *again = false;
    if (!mkdtemp(run_folder))
        return cli_fail("%s: %s", run_folder, strerror(errno));
    int status = record_in(options, engine, otherwise, run_folder, again);
    nftw(run_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(run_folder);
    return status;
}

static int record_with(struct record_options *options, const struct engine *engine,
                       const struct engine *otherwise)
{
    bool again = true;
    int status = OK;

    options->progress = !options->quiet && isatty(STDERR_FILENO);
    if (!can_be_written(options->output))
        return cli_fail("%s: %s", options->output, strerror(errno));
    char *temporary = choose_temporary();
    if (options->repeatable)
        fix_environment();
    record_hint_python(options);
    record_find_trampolines(options);
    while (again)
        status = record_once(options, engine, otherwise, temporary, &again);
    free(temporary);
    return status;
}

int command_record(int argc, char **argv)
{
    struct record_options options;
    const struct engine *engine, *otherwise;
    bool done;
    int status = record_parse(argc, argv, &options, &engine, &otherwise, &done);

    if (!status && !done)
        status = record_with(&options, engine, otherwise);
    record_options_free(&options);
    return status;
}
