/*
 * own_stack.c: runs a command on a stack that is large enough, whatever the limit says.
 *
 * The limit on the stack is meant for the program that is recorded, and stays as it is for that
 * one. The libraries that read debug information take a hundred kilobytes and more of the stack at
 * once, so under a small limit a recording would end in a crash when all of it was there.
 */
#include "cli/command.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)8 << 20) /* the usual limit */
#define GUARD_BYTES ((size_t)1 << 16)

static struct {
    const struct command *command;
    int argc;
    char **argv;
    int status;
} job;

static void run_job(void)
{
    job.status = job.command->run(job.argc, job.argv);
}

/* Its lowest bytes cannot be touched. NULL: there is no memory for it. */
static char *new_stack(void)
{
    char *stack = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        return NULL;
    return mprotect(stack + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) ? NULL : stack;
}

int cli_run(const struct command *command, int argc, char **argv)
{
    static ucontext_t given, own;
    struct rlimit limit;
    char *stack;

    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= STACK_BYTES || !(stack = new_stack()))
        return command->run(argc, argv);
    job.command = command;
    job.argc = argc;
    job.argv = argv;
    getcontext(&own);
    own.uc_stack.ss_sp = stack + GUARD_BYTES;
    own.uc_stack.ss_size = STACK_BYTES;
    own.uc_link = &given;
    makecontext(&own, run_job, 0);
    swapcontext(&given, &own);
    return job.status;
}
