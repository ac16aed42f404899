/*
 * record.c: the machine as an engine of `trueflame record`.
 *
 * Runs in a child of `record` (engines/engine.h): the guest's output and input are its own, it
 * ends as the guest ends, and what it leaves is a raw file in the run folder for each program it
 * was. The guest runs in slices; between them the status and checkpoint files are written and
 * requests to stop are seen. A guest that forks makes a copy of all this: the child goes on from
 * here with its own number, and leaves its own files.
 */
#include "common/memory.h"
#include "engines/engine.h"
#include "engines/riscv/riscv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Instructions between two looks at the outside: some tens of milliseconds. */
#define SLICE_INSTRUCTIONS (1u << 24)

#define FRAMES_SHOWN 16

struct recording {
    const struct record_options *options;
    const char *run_folder;
    struct riscv_machine *machine;
    uint64_t next_checkpoint;
    bool checkpoint_failed; /* and that was said: the next ones may succeed, or fail in silence */
};

/* Without `record` nobody would make a profile of what the guest leaves, or even know of it. */
static void end_with_record(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static volatile sig_atomic_t asked_to_end; /* the signal that asked */

static void ask_to_end(int number)
{
    asked_to_end = number;
}

/* No SA_RESTART: a guest that waits for input must not keep us. */
static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_end};

    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
}

static void write_raw(struct recording *recording, enum riscv_profile_state state)
{
    bool is_checkpoint = state == RISCV_PROFILE_CHECKPOINT;
    struct error error;

    if (!riscv_is_profiled(recording->machine))
        return;
    char *path = memory_format("%s/%d.%llu.raw", recording->run_folder, (int)getpid(),
                               (unsigned long long)riscv_lineage(recording->machine)->image);

    if (riscv_profile_write(recording->machine, path, state, &error) &&
        !(is_checkpoint && recording->checkpoint_failed)) {
        fprintf(stderr, "trueflame: %s\n", error.text);
        recording->checkpoint_failed = is_checkpoint;
    }
    free(path);
}

static void write_status(const struct recording *recording)
{
    if (!riscv_is_profiled(recording->machine))
        return;
    uint64_t status[2] = {riscv_state(recording->machine)->instructions,
                          riscv_profile_contexts(recording->machine)};
    char *path = memory_format("%s/status.%d", recording->run_folder, (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    /* The line on the terminal can wait for the next one. */
    if (file >= 0) {
        if (write(file, status, sizeof status) < 0)
            errno = 0;
        close(file);
    }
    free(path);
}

/* Runs to the end, the budget, or a signal. True if the budget ended it. */
static bool run(struct recording *recording)
{
    const struct record_options *options = recording->options;
    uint64_t done = 0;

    while (!asked_to_end) {
        uint64_t slice = SLICE_INSTRUCTIONS;
        if (options->budget && options->budget - done < slice)
            slice = options->budget - done;
        if (options->checkpoint && recording->next_checkpoint - done < slice)
            slice = recording->next_checkpoint - done;
        if (riscv_run(recording->machine, slice) != RISCV_RUNNING)
            return false;
        done = riscv_state(recording->machine)->instructions;
        if (options->budget && done >= options->budget)
            return true;
        if (options->checkpoint && done >= recording->next_checkpoint) {
            write_raw(recording, RISCV_PROFILE_CHECKPOINT);
            recording->next_checkpoint = done + options->checkpoint;
        }
        if (options->progress)
            write_status(recording);
    }
    return false;
}

static void print_note(void *context, const char *text)
{
    const struct recording *recording = context;

    if (!recording->options->quiet)
        fprintf(stderr, "trueflame: %s\n", text);
}

/* What the process was as a guest is over: what comes next is not recorded. */
static void before_exec(void *context, struct riscv_machine *machine)
{
    (void)machine;
    write_raw(context, RISCV_PROFILE_ENDED);
}

static void print_frame(void *context, uint64_t address, const char *name)
{
    (void)context;
    fprintf(stderr, "trueflame:     0x%llx %s\n", (unsigned long long)address, name);
}

/* Why a guest that did not simply exit is over: in one line, and where it was. */
static void report_ending(const struct recording *recording)
{
    const struct riscv_state *state = riscv_state(recording->machine);

    if (!state->message[0])
        return;
    fprintf(stderr, "trueflame: %s: %s\n", recording->options->program, state->message);
    if (!recording->options->quiet)
        riscv_walk_stack(recording->machine, FRAMES_SHOWN, print_frame, NULL);
}

/* As the guest ended: with its status, or of its signal, but without a core file of ours. */
static _Noreturn void end_like(const struct riscv_state *state)
{
    int number = asked_to_end                       ? asked_to_end
                 : state->ending == RISCV_SIGNALLED ? state->exit_status
                                                    : 0;

    if (number) {
        struct rlimit none = {0};
        sigset_t mask;
        setrlimit(RLIMIT_CORE, &none);
        signal(number, SIG_DFL);
        sigemptyset(&mask);
        sigaddset(&mask, number);
        sigprocmask(SIG_UNBLOCK, &mask, NULL);
        raise(number);
    }
    _exit(state->exit_status);
}

static const char *refuses(const struct record_options *options)
{
    (void)options;
    return NULL;
}

static enum riscv_abi abi_of(enum guest_abi abi)
{
    return abi == ABI_LINUX    ? RISCV_ABI_LINUX
           : abi == ABI_LAMBDA ? RISCV_ABI_LAMBDA
                               : RISCV_ABI_AUTO;
}

extern char **environ;

static void begin_profile(const struct recording *recording)
{
    const struct record_options *options = recording->options;

    riscv_profile_begin(recording->machine, &(struct riscv_profile_options){
                                                .line_detail = options->line_detail,
                                                .keep_tail_calls = options->keep_tail_calls,
                                                .paused = options->start_off,
                                                .max_contexts = (uint32_t)options->max_contexts,
                                            });
}

/* The program that the guest wants to be takes its place. */
static void become_successor(struct recording *recording, struct riscv_options *options,
                             struct riscv_successor *successor)
{
    bool profiled = riscv_is_profiled(recording->machine);
    struct riscv_successor next = riscv_take_successor(recording->machine);
    struct error error;

    options->image = riscv_lineage(recording->machine)->image + 1;
    riscv_destroy(recording->machine);
    riscv_successor_free(successor);
    *successor = next;
    options->path = next.path;
    options->arguments = (const char *const *)next.arguments;
    options->variables = (const char *const *)next.variables;
    options->blocked = next.blocked;
    recording->next_checkpoint = recording->options->checkpoint;
    recording->machine = riscv_create(options, &error);
    if (!recording->machine) { /* the old program is gone: the kernel would kill it, too */
        fprintf(stderr, "trueflame: %s\n", error.text);
        _exit(128 + SIGKILL);
    }
    if (profiled)
        begin_profile(recording);
}

__attribute__((noreturn)) static void execute(const struct record_options *options,
                                              const char *run_folder)
{
    struct recording recording = {
        .options = options, .run_folder = run_folder, .next_checkpoint = options->checkpoint};
    struct riscv_options machine_options = {
        .path = options->program,
        .abi = abi_of(options->abi),
        .arguments = (const char *const *)options->command,
        .variables = (const char *const *)environ,
        .input_path = options->input,
        .output_path = options->output_file,
        .owns_process = true,
        .follows_children = options->follow_children,
        .repeatable = options->repeatable,
        .before_exec = before_exec,
        .note = print_note,
        .note_context = &recording,
    };
    struct riscv_successor successor = {0};
    struct error error;

    end_with_record();
    watch_signals();
    recording.machine = riscv_create(&machine_options, &error);
    if (!recording.machine)
        engine_fail(run_folder, "%s", error.text);
    begin_profile(&recording);
    bool over_budget = run(&recording);
    while (riscv_state(recording.machine)->ending == RISCV_SUCCEEDED) {
        write_raw(&recording, RISCV_PROFILE_ENDED);
        become_successor(&recording, &machine_options, &successor);
        over_budget = run(&recording);
    }
    write_raw(&recording, over_budget ? RISCV_PROFILE_BUDGET : RISCV_PROFILE_ENDED);
    report_ending(&recording);
    if (riscv_write_output(recording.machine, &error)) {
        fprintf(stderr, "trueflame: %s\n", error.text);
        _exit(2);
    }
    end_like(riscv_state(recording.machine));
}

const struct engine riscv_engine = {
    .name = "riscv",
    .refuses = refuses,
    .execute = execute,
};
