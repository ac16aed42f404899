/*
 * linux_processes.c: fork, exec and wait.
 *
 * A process of the guest is one of the host: fork is the host's, and the child has a copy of the
 * machine, which goes on with a profile of its own. A vfork's child borrows no memory but has a
 * copy too, so that what it writes there its parent does not see. exec of a RISC-V program ends the
 * run, saying what comes next (riscv_successor); any other program takes the process over, and runs
 * unrecorded.
 */
#include "engines/riscv/linux.h"

#include "common/memory.h"
#include "engines/riscv/image.h"
#include "engines/riscv/profiling.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGUMENTS 131072

int64_t linux_fork(struct riscv_machine *machine)
{
    if (!machine->options.owns_process)
        return -ENOSYS;
    pid_t parent = getpid();
    profiling_before_fork(machine);
    machine->forks++;
    pid_t child = fork();
    if (child < 0)
        machine->forks--;
    if (child)
        return child < 0 ? -errno : child;
    machine->lineage = (struct riscv_lineage){.parent_pid = (uint64_t)parent,
                                              .parent_image = machine->lineage.image,
                                              .fork_ordinal = machine->forks};
    machine->forks = 0;
    linux_threads_forked(machine);
    profiling_forked(machine);
    return 0;
}

/* ---- exec ---- */

static void free_strings(char **strings)
{
    for (size_t i = 0; strings && strings[i]; i++)
        free(strings[i]);
    free(strings);
}

/* A copy of a NULL-terminated vector of strings; NULL if it is not all in guest memory. */
static char **copy_strings(const struct riscv_machine *machine, uint64_t address)
{
    size_t capacity = 0, count = 0;
    char **copy = NULL;

    for (; address; address += 8) {
        uint64_t string;
        const char *text = NULL;
        if (count < MAX_ARGUMENTS &&
            memory_read(&machine->memory, address, &string, sizeof string)) {
            if (!string)
                break;
            text = linux_text(machine, string, SIZE_MAX);
        }
        *array_push(copy, count, capacity) = text ? memory_duplicate_string(text) : NULL;
        if (!text) {
            free_strings(copy);
            return NULL;
        }
    }
    *array_push(copy, count, capacity) = NULL;
    return copy;
}

static bool is_riscv(const char *path)
{
    unsigned char head[20] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, head, sizeof head);

    if (file >= 0)
        close(file);
    return got == sizeof head && !memcmp(head, "\177ELF\2\1", 6) && head[18] == 0xf3 && !head[19];
}

/* The files that a new program does not inherit. */
static void close_on_exec(void)
{
    DIR *folder = opendir("/proc/self/fd");

    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int file = atoi(entry->d_name), flags;
        if (entry->d_name[0] != '.' && file != dirfd(folder) &&
            (flags = fcntl(file, F_GETFD)) >= 0 && flags & FD_CLOEXEC)
            close(file);
    }
    if (folder)
        closedir(folder);
}

/* Signals that are ignored stay so; the others are as they were before the guest. */
static void hand_on_signals(struct riscv_machine *machine, struct riscv_successor *successor)
{
    struct linux_state *state = linux_state_of(machine);

    linux_host_end(machine);
    for (int number = 1; number <= LINUX_SIGNALS; number++)
        if (state->actions[number].handler == (uint64_t)SIG_IGN)
            signal(number, SIG_IGN);
    successor->blocked = linux_thread_of(machine)->blocked;
}

/* The host's program, unrecorded. Only comes back if that fails. */
static int64_t become_hosts(struct riscv_machine *machine, const struct riscv_successor *next)
{
    sigset_t mask, before;

    if (machine->options.before_exec)
        machine->options.before_exec(machine->options.note_context, machine);
    sigemptyset(&mask);
    for (int number = 1; number <= LINUX_SIGNALS; number++)
        if (linux_thread_of(machine)->blocked & linux_bit(number))
            sigaddset(&mask, number);
    sigprocmask(SIG_SETMASK, &mask, &before);
    execve(next->path, next->arguments, next->variables);
    int64_t result = -errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

static int64_t become(struct riscv_machine *machine, struct riscv_successor *next)
{
    struct riscv_image image = {0};
    struct error error;

    if (access(next->path, X_OK))
        return -errno;
    if (!is_riscv(next->path))
        return become_hosts(machine, next);
    if (image_read(&image, next->path, &error)) {
        if (machine->options.note)
            machine->options.note(machine->options.note_context, error.text);
        return -ENOEXEC;
    }
    image_release(&image);
    hand_on_signals(machine, next);
    close_on_exec();
    machine->successor = *next;
    machine_stop(machine, RISCV_SUCCEEDED, 0, "%s", "");
    return 0;
}

int64_t linux_execve(struct riscv_machine *machine, const uint64_t *arguments)
{
    const char *path = linux_path(machine, arguments[0]);
    struct riscv_successor next = {0};

    if (!machine->options.owns_process)
        return -ENOSYS;
    if (!path)
        return -EFAULT;
    next.path = memory_duplicate_string(linux_resolve_path(machine, path));
    next.arguments = copy_strings(machine, arguments[1]);
    next.variables = copy_strings(machine, arguments[2]);
    int64_t result = next.arguments && next.variables ? become(machine, &next) : -EFAULT;
    if (machine->state.ending == RISCV_RUNNING) {
        free(next.path);
        free_strings(next.arguments);
        free_strings(next.variables);
    }
    return result;
}

void riscv_successor_free(struct riscv_successor *successor)
{
    free(successor->path);
    free_strings(successor->arguments);
    free_strings(successor->variables);
    *successor = (struct riscv_successor){0};
}

/* ---- wait ---- */

/* Alone the process waits in the host's call; with other threads it only looks, and waits here. */
static int flags_for(const struct riscv_machine *machine, uint64_t flags)
{
    return (int)flags | (linux_state_of(machine)->thread_count > 1 ? WNOHANG : 0);
}

/* Somebody asked for WNOHANG, or there is an answer: it is one. */
static int64_t wait_more(struct riscv_machine *machine, uint64_t flags, int64_t result, bool found)
{
    if (result || found || flags & WNOHANG)
        return result;
    if (linux_thread_of(machine)->wake == WAKE_SIGNAL)
        return -EINTR;
    return linux_await(machine, WAITS_CHILD, LINUX_NEVER);
}

int64_t linux_wait4(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct rusage usage;
    int status = 0;
    pid_t child = wait4((pid_t)arguments[0], &status, flags_for(machine, arguments[2]), &usage);
    int64_t result = wait_more(machine, arguments[2], child < 0 ? -errno : child, false);

    if (result <= 0)
        return result;
    if (arguments[1] && !memory_write(&machine->memory, arguments[1], &status, sizeof status))
        return -EFAULT;
    if (arguments[3] && !memory_write(&machine->memory, arguments[3], &usage, sizeof usage))
        return -EFAULT;
    return result;
}

int64_t linux_waitid(struct riscv_machine *machine, const uint64_t *arguments)
{
    siginfo_t information = {0};
    int failed = waitid((idtype_t)arguments[0], (id_t)arguments[1], &information,
                        flags_for(machine, arguments[3]));
    int64_t result = wait_more(machine, arguments[3], failed ? -errno : 0, information.si_pid != 0);

    if (result)
        return result;
    if (arguments[2] &&
        !memory_write(&machine->memory, arguments[2], &information, sizeof information))
        return -EFAULT;
    return 0;
}
