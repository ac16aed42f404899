/*
 * record_run.c: starts the engine and waits, with a line on the terminal and checkpoints.
 */
#include "cli/command.h"
#include "cli/record.h"
#include "common/memory.h"
#include "profile/raw_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NANOSECONDS 200000000

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

/* Sums the status files of all processes of the run. */
static void read_status(const char *run_folder, uint64_t *instructions, uint64_t *contexts)
{
    DIR *folder = opendir(run_folder);

    *instructions = *contexts = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint64_t words[2];
        if (strncmp(entry->d_name, "status.", 7))
            continue;
        int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (file >= 0 && read(file, words, sizeof words) == sizeof words) {
            *instructions += words[0];
            *contexts += words[1];
        }
        if (file >= 0)
            close(file);
    }
    if (folder)
        closedir(folder);
}

static uint64_t resident_bytes(pid_t pid)
{
    char *path = memory_format("/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    uint64_t pages = 0;

    if (file) {
        if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
            pages = 0;
        fclose(file);
    }
    free(path);
    return pages * sysconf(_SC_PAGESIZE);
}

static void show_progress(const char *run_folder, pid_t pid, double started)
{
    uint64_t instructions, contexts;
    char grouped[32], grouped_contexts[32];
    double elapsed = seconds_now() - started;
    uint64_t memory_bytes = resident_bytes(pid);

    read_status(run_folder, &instructions, &contexts);
    if (!instructions || !memory_bytes) /* not begun, or over */
        return;
    cli_group_number(grouped, instructions);
    cli_group_number(grouped_contexts, contexts);
    fprintf(stderr,
            "\r\033[Ktrueflame: %s instructions, %.0f million a second, %s contexts, %" PRIu64
            " MB",
            grouped, elapsed > 0 ? instructions / elapsed / 1e6 : 0, grouped_contexts,
            memory_bytes >> 20);
    fflush(stderr);
}

/* The time of the newest raw file, to see that a checkpoint was written. */
static struct timespec newest_raw(const char *run_folder)
{
    DIR *folder = opendir(run_folder);
    struct timespec newest = {0};

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".raw") ||
            fstatat(dirfd(folder), entry->d_name, &status, 0))
            continue;
        if (status.st_mtim.tv_sec > newest.tv_sec ||
            (status.st_mtim.tv_sec == newest.tv_sec && status.st_mtim.tv_nsec > newest.tv_nsec))
            newest = status.st_mtim;
    }
    if (folder)
        closedir(folder);
    return newest;
}

/* A checkpoint that cannot be written does not end the recording: the next may succeed. */
static void write_checkpoint(const struct record_options *options, const char *run_folder,
                             struct timespec *last)
{
    struct timespec newest = newest_raw(run_folder);
    struct error error;

    if (newest.tv_sec == last->tv_sec && newest.tv_nsec == last->tv_nsec)
        return;
    *last = newest;
    record_write(options, run_folder, false, 0, &error);
}

static pid_t child;

/* Who asks `record` to stop means the program. */
static void pass_on(int number)
{
    if (child > 0)
        kill(child, number);
}

static void handle_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction pass = {.sa_handler = pass_on, .sa_flags = SA_RESTART};

    /* The terminal sends these to the program as well; the profile is written after it. */
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
}

/* The program has ended; children of it that it did not wait for may be about to end too, and in the
 * middle of writing. What takes longer is another matter: a daemon may live for ever. */
static void wait_for_writers(const char *run_folder)
{
    bool writing = true;

    for (unsigned i = 0; writing && i < 500; i++) {
        DIR *folder = opendir(run_folder);
        writing = false;
        for (struct dirent *entry; folder && (entry = readdir(folder));)
            writing |= raw_is_being_written(entry->d_name);
        if (folder)
            closedir(folder);
        if (writing)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

int record_run(const struct record_options *options, const struct engine *engine,
               const char *run_folder, int *wait_status, struct error *error)
{
    double started = seconds_now();
    struct timespec last_checkpoint = {0};
    sigset_t mask, old_mask;

    *wait_status = 0;
    record_hint_node(options);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &old_mask);
    child = fork();
    if (child < 0)
        return error_set(error, "no process for the program: %s", strerror(errno));
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old_mask, NULL);
        record_prepare_python(options, run_folder);
        if (options->node)
            record_prepare_node();
        engine->execute(options, run_folder);
    }
    handle_signals();
    while (waitpid(child, wait_status, WNOHANG) == 0) {
        struct timespec tick = {.tv_nsec = TICK_NANOSECONDS};
        bool ticking = options->progress || options->checkpoint;
        if (!ticking)
            tick = (struct timespec){.tv_sec = 3600};
        sigtimedwait(&mask, NULL, &tick);
        if (options->progress)
            show_progress(run_folder, child, started);
        if (options->checkpoint)
            write_checkpoint(options, run_folder, &last_checkpoint);
    }
    child = 0;
    wait_for_writers(run_folder);
    if (options->progress)
        fputs("\r\033[K", stderr);
    return OK;
}
