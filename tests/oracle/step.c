/*
 * step.c: runs a program one instruction at a time and counts every instruction that retires.
 *
 *   step [-o FILE] [--folded | --unwind-tables] [--start=off] [--] PROGRAM [ARGS...]
 *
 * FILE gets one line `total N`; with --folded the true call tree follows, one line a path, as
 * walk.c finds it by frame pointers, or with --unwind-tables as cfi.c finds it by those. Threads,
 * forked children and executed programs are stepped and counted too. The program's own output and
 * exit status pass through. Addresses are not randomised.
 *
 * What counts:
 *   - an instruction that repeats itself (REP) once, however many times the processor stops in it;
 *   - an instruction that faults not at all, until it is run again and does not fault;
 *   - a system call that the kernel makes again once, since the program cannot tell;
 *   - the system call that ends the program, too;
 *   - with --start=off, and after a program's own request, only what runs while recording is on.
 *     A request takes effect after its last instruction: that of STOP still counts.
 *
 * The path is looked up after whatever can move it: a call, a return, a system call, an indirect
 * jump, a signal, a step into another function. In between it stays, so that code which changes
 * stacks by hand counts for the path on which its straight run began. The instructions of a PLT
 * stub count for the path that went into it.
 *
 * Costs about 5 microseconds an instruction, more with the tree: for programs of up to a few
 * million instructions. Not understood: a program that debugs itself or uses `int3`.
 */
#include "oracle.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("oracle: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(125);
}

static bool want_tree, start_on = true;
static const char *tables_of; /* the program whose unwind tables tell the path; NULL: frames do */

/* Only a program of one thread whose handlers need not be known is run ahead. */
static struct ahead ahead;
static bool can_run_ahead, runs_ahead;

static void read_registers(struct task *task, struct user_regs_struct *registers)
{
    if (ptrace(PTRACE_GETREGS, task->id, NULL, registers) < 0)
        die("registers of %d: %s", task->id, strerror(errno));
}

static void look_up_path(struct task *task)
{
    static struct walk walk;
    struct user_regs_struct registers;
    read_registers(task, &registers);
    walk.pid = task->id;
    walk.image = task->process->image;
    walk.signal_at = signal_at;
    walk.data = task->process;
    if (tables_of)
        walk_stack_by_tables(&walk, tables_of);
    else
        walk_stack(&walk, (struct registers){registers.rip, registers.rsp, registers.rbp});
    uint32_t node = 0;
    for (size_t i = walk.count; i-- > 0;) {
        int frame = walk.frames[i];
        char marker[32];
        snprintf(marker, sizeof marker, "(signal %d)", FRAME_SIGNAL_BASE - frame);
        node = tree_child(node, frame == FRAME_ANON          ? tree_intern("[anon]")
                                : frame <= FRAME_SIGNAL_BASE ? tree_intern(marker)
                                                             : task->process->names[frame]);
    }
    task->node = node;
}

static uint64_t read_rip(struct task *task)
{
    errno = 0;
    uint64_t rip =
        (uint64_t)ptrace(PTRACE_PEEKUSER, task->id, offsetof(struct user_regs_struct, rip), NULL);
    if (errno)
        die("registers of %d: %s", task->id, strerror(errno));
    return rip;
}

/*
 * At the end of an unwind the C++ runtime overwrites what its own frame has saved with the
 * registers of the function it will land in, and calls a hook for debuggers before it goes there.
 * Until it does, the tables speak of the landing place, and the path is followed by its calls.
 */
static bool follow_end_of_unwind(struct task *task)
{
    const char *left = tree_name(task->node);
    if (task->flow == FLOW_RETURN && strcmp(left, "uw_install_context_1") == 0)
        task->ends_unwind = true;
    else if (!task->ends_unwind)
        return false;
    if (task->flow == FLOW_CALL) {
        int symbol = image_symbol_at(task->process->image, task->next_rip);
        task->node = tree_child(task->node, task->process->names[symbol]);
        return true;
    }
    bool returns_within = task->flow == FLOW_RETURN && (strcmp(left, "uw_install_context_1") == 0 ||
                                                        strcmp(left, "_Unwind_DebugHook") == 0);
    if (returns_within)
        task->node = tree_parent(task->node);
    else
        task->ends_unwind = false;
    return returns_within;
}

/* Readies the task for the instruction at its rip: what it is, and whose. */
static void arrive(struct task *task, bool path_may_have_moved)
{
    uint8_t code[INSTRUCTION_BYTES];
    task->next_rip = read_rip(task);
    bool followed = tables_of && path_may_have_moved && follow_end_of_unwind(task);
    task->rip = task->next_rip;
    task->flow = decode_flow(code, memory_read(task->id, task->rip, code, sizeof code));
    if (!want_tree || image_is_stub(task->process->image, task->rip))
        return;
    int symbol = image_symbol_at(task->process->image, task->rip);
    int function = symbol == NO_SYMBOL ? NO_SYMBOL : task->process->image->symbols[symbol].function;
    if (!followed && (path_may_have_moved || function != task->function))
        look_up_path(task);
    task->function = function;
}

static void count_instruction(struct task *task)
{
    if (!task->process->recording)
        return;
    tree_count(task->node);
}

enum request {
    REQUEST_DUMP,
    REQUEST_ZERO,
    REQUEST_TOGGLE,
    REQUEST_DUMP_NAMED,
    REQUEST_START,
    REQUEST_STOP,
};

static void obey_request(struct task *task)
{
    static const uint8_t preamble[] = {0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d,
                                       0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33};
    uint8_t code[sizeof preamble];
    struct user_regs_struct registers;
    uint64_t request;
    memory_read(task->id, task->rip - sizeof code, code, sizeof code);
    read_registers(task, &registers);
    if (memcmp(code, preamble, sizeof code) != 0 ||
        memory_read(task->id, registers.rax, &request, sizeof request) != sizeof request)
        return;
    if (request >> 8 != 0x435400)
        return;
    switch (request & 0xff) {
    case REQUEST_DUMP:
    case REQUEST_DUMP_NAMED:
    case REQUEST_ZERO:
        tree_end_part((request & 0xff) != REQUEST_ZERO);
        break;
    case REQUEST_TOGGLE:
        task->process->recording = !task->process->recording;
        break;
    case REQUEST_START:
        task->process->recording = true;
        break;
    case REQUEST_STOP:
        task->process->recording = false;
        break;
    }
}

static void step_done(struct task *task)
{
    uint64_t rip = read_rip(task);
    if (task->enters_handler) {
        struct user_regs_struct registers;
        read_registers(task, &registers);
        signal_remember(task->process, registers.rsp + 8, task->delivered);
        arrive(task, true);
        return;
    }
    if (task->flow == FLOW_REPEAT && rip == task->rip)
        return;
    if (task->makes_again && rip == task->rip)
        return;
    if (task->flow == FLOW_NEXT && rip == task->rip)
        die("a step at %#lx went nowhere", (unsigned long)task->rip);
    count_instruction(task);
    if (task->flow == FLOW_REQUEST)
        obey_request(task);
    task->after_call = task->flow == FLOW_SYSCALL;
    arrive(task, task->flow == FLOW_CALL || task->flow == FLOW_RETURN ||
                     task->flow == FLOW_SYSCALL || task->flow == FLOW_JUMP_INDIRECT);
}

static bool go_ahead(struct task *task)
{
    if (!can_run_ahead || task->process->recording)
        return false;
    if (!runs_ahead)
        ahead_set(&ahead, task->id);
    return runs_ahead = true;
}

static void stop_running_ahead(struct task *task)
{
    ahead_clear(&ahead, task->id);
    runs_ahead = false;
}

/* At a breakpoint: goes back to the instruction that stood there. */
static void request_reached(struct task *task)
{
    struct user_regs_struct registers;
    read_registers(task, &registers);
    if (!ahead_is_request(&ahead, --registers.rip))
        die("a trap at %#lx is not the oracle's", (unsigned long)registers.rip);
    stop_running_ahead(task);
    ptrace(PTRACE_SETREGS, task->id, NULL, &registers);
    arrive(task, true);
    task->delivered = 0;
    task->enters_handler = false;
    task->running = true;
    ptrace(PTRACE_SINGLESTEP, task->id, NULL, NULL);
}

static void resume(struct task *task, int signal)
{
    task->delivered = signal;
    task->enters_handler =
        signal && (status_field(task->id, "SigCgt:", 16) >> (signal - 1) & 1) != 0;
    task->makes_again = task->after_call && signal && !task->enters_handler;
    task->running = true;
    enum __ptrace_request how = go_ahead(task) ? PTRACE_CONT : PTRACE_SINGLESTEP;
    if (ptrace(how, task->id, NULL, (long)signal) < 0 && errno != ESRCH)
        die("step of %d: %s", task->id, strerror(errno));
}

static void task_stopped(struct task *task, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16;
    task->running = false;
    if (event && runs_ahead) { /* a fork or a thread: one step at a time from here */
        stop_running_ahead(task);
        can_run_ahead = false;
    }
    if (task->fresh && (signal == SIGSTOP || event == PTRACE_EVENT_STOP)) {
        task->fresh = false;
        if (ahead.count)
            ahead_clear(&ahead, task->id);
        arrive(task, true);
        resume(task, 0);
    } else if (event == PTRACE_EVENT_EXEC) {
        if (want_tree)
            process_load_image(task->process);
        resume(task, 0);
    } else if (event) {
        resume(task, 0);
    } else if (signal == SIGTRAP && runs_ahead) {
        request_reached(task);
    } else if (signal == SIGTRAP) {
        step_done(task);
        resume(task, 0);
    } else {
        resume(task, signal);
    }
}

/* The last system call of a thread never comes back to be seen; it was executed all the same. */
static void task_ended(struct task *task, int status)
{
    bool died_of_delivered = WIFSIGNALED(status) && task->delivered == WTERMSIG(status);
    if (task->running && task->flow == FLOW_SYSCALL && !died_of_delivered)
        count_instruction(task);
    task_forget(task);
}

static int run(pid_t first)
{
    int exit_status = 0, status;
    pid_t id;
    while ((id = waitpid(-1, &status, __WALL)) > 0) {
        if (WIFSTOPPED(status)) {
            task_stopped(task_of(id), status);
            continue;
        }
        struct task *task = task_find(id);
        if (task)
            task_ended(task, status);
        if (id == first)
            exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return exit_status;
}

/* Each step is two switches between oracle and program: cheaper on one processor than between
 * two. */
static void stay_on_one_processor(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return;
    int last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &allowed))
        last--;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static pid_t start(char **command)
{
    stay_on_one_processor();
    pid_t child = fork();
    if (child == 0) {
        personality(ADDR_NO_RANDOMIZE);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execv(command[0], command);
        die("%s: %s", command[0], strerror(errno));
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        die("cannot start %s", command[0]);
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
    ptrace(PTRACE_SETOPTIONS, child, NULL, options);
    ptrace(PTRACE_CONT, child, NULL, NULL);
    if (waitpid(child, &status, 0) < 0 || status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
        die("%s did not start", command[0]);
    struct task *task = task_of(child);
    task->fresh = false;
    task->process->recording = start_on;
    if (want_tree)
        process_load_image(task->process);
    can_run_ahead = !start_on && (!want_tree || tables_of);
    if (can_run_ahead)
        ahead_find_requests(&ahead, image_read(command[0]));
    arrive(task, true);
    /* The step out of execve itself executes nothing of the program. */
    ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        die("%s did not start", command[0]);
    arrive(task, true);
    resume(task, 0);
    return child;
}

static void report(const char *path)
{
    FILE *out = path ? fopen(path, "w") : stderr;
    if (!out)
        die("%s: %s", path, strerror(errno));
    tree_report(out);
    if (path)
        fclose(out);
}

int main(int argc, char **argv)
{
    const char *output = NULL;
    bool want_tables = false;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            output = argv[++i];
        else if (strcmp(argv[i], "--folded") == 0)
            want_tree = true;
        else if (strcmp(argv[i], "--unwind-tables") == 0)
            want_tree = want_tables = true;
        else if (strcmp(argv[i], "--start=off") == 0)
            start_on = false;
        else
            die("unknown option %s", argv[i]);
    }
    if (i >= argc)
        die("usage: step [-o FILE] [--folded | --unwind-tables] [--start=off] [--] PROGRAM "
            "[ARGS...]");
    tables_of = want_tables ? argv[i] : NULL;
    int status = run(start(argv + i));
    report(output);
    return status;
}
