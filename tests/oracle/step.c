/*
 * step.c: runs a program one instruction at a time and counts every instruction that retires.
 *
 *   step [-o FILE] [--folded] [--start=off] [--] PROGRAM [ARGS...]
 *
 * FILE gets one line `total N`; with --folded the true call tree follows, one line a path, as
 * walk.c finds it. Threads, forked children and executed programs are stepped and counted too.
 * The program's own output and exit status pass through. Addresses are not randomised.
 *
 * What counts:
 *   - an instruction that repeats itself (REP) once, however many times the processor stops in it;
 *   - an instruction that faults not at all, until it is run again and does not fault;
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

/* ---- the tree ---- */

struct node {
    uint32_t parent;
    const char *name;
    uint64_t count;
};

static struct node *nodes;
static size_t node_count, node_capacity;
static uint32_t *node_index;
static size_t node_index_size;

static size_t node_slot(uint32_t parent, const char *name)
{
    uint64_t hash = (parent * 0x9e3779b97f4a7c15u) ^ ((uintptr_t)name * 0xc2b2ae3d27d4eb4fu);
    size_t slot = (hash ^ hash >> 29) & (node_index_size - 1);
    while (node_index[slot]) {
        struct node *node = &nodes[node_index[slot]];
        if (node->parent == parent && node->name == name)
            break;
        slot = (slot + 1) & (node_index_size - 1);
    }
    return slot;
}

static void grow_nodes(void)
{
    node_capacity = node_capacity ? node_capacity * 2 : 1024;
    nodes = realloc(nodes, node_capacity * sizeof *nodes);
    free(node_index);
    node_index_size = node_capacity * 4;
    node_index = calloc(node_index_size, sizeof *node_index);
    for (uint32_t i = 1; i < node_count; i++)
        node_index[node_slot(nodes[i].parent, nodes[i].name)] = i;
}

/* Names are interned, so that one name is one pointer, whichever program it came from. */
static const char *intern(const char *name)
{
    static const char **names;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    names = realloc(names, (count + 1) * sizeof *names);
    return names[count++] = strdup(name);
}

static uint32_t child_of(uint32_t parent, const char *name)
{
    if (node_count + 1 >= node_capacity)
        grow_nodes();
    if (node_count == 0)
        nodes[node_count++] = (struct node){0};
    size_t slot = node_slot(parent, name);
    if (!node_index[slot]) {
        nodes[node_count] = (struct node){.parent = parent, .name = name};
        node_index[slot] = (uint32_t)node_count++;
    }
    return node_index[slot];
}

static void print_path(FILE *out, uint32_t node)
{
    size_t depth = 0;
    for (uint32_t i = node; i; i = nodes[i].parent)
        depth++;
    uint32_t *path = malloc(depth * sizeof *path);
    size_t place = depth;
    for (uint32_t i = node; i; i = nodes[i].parent)
        path[--place] = i;
    for (place = 0; place < depth; place++)
        fprintf(out, "%s%s", place ? ";" : "", nodes[path[place]].name);
    free(path);
}

/* ---- processes and their threads ---- */

struct process {
    pid_t id;
    struct image *image;
    const char **names; /* of the image's symbols, interned */
    bool recording;
    struct process *next;
};

struct task {
    pid_t id;
    struct process *process;
    bool fresh;   /* its first stop is the one that every traced child makes */
    bool running; /* resumed and not stopped since */
    int delivered;      /* the signal it was resumed with */
    bool enters_handler; /* and that signal has a handler */
    uint64_t rip;
    enum flow flow; /* of the instruction at rip */
    int function;   /* the symbol that has rip */
    uint32_t node;
    struct task *next;
};

static struct process *processes;
static struct task *tasks;
static bool want_tree, start_on = true;
static uint64_t total;

struct signal_frame {
    struct process *process;
    uint64_t ucontext;
    int number;
};
static struct signal_frame *signal_frames;
static size_t signal_frame_count;

static void remember_signal(struct process *process, uint64_t ucontext, int number)
{
    for (size_t i = 0; i < signal_frame_count; i++)
        if (signal_frames[i].process == process && signal_frames[i].ucontext == ucontext) {
            signal_frames[i].number = number;
            return;
        }
    signal_frames = realloc(signal_frames, (signal_frame_count + 1) * sizeof *signal_frames);
    signal_frames[signal_frame_count++] = (struct signal_frame){process, ucontext, number};
}

static int signal_at(void *data, uint64_t ucontext)
{
    int any = -1;
    for (size_t i = 0; i < signal_frame_count; i++) {
        if (signal_frames[i].ucontext != ucontext)
            continue;
        if (signal_frames[i].process == data)
            return signal_frames[i].number;
        any = signal_frames[i].number; /* made before a fork */
    }
    if (any < 0)
        die("no signal was delivered at %#lx", (unsigned long)ucontext);
    return any;
}

static unsigned long status_field(pid_t id, const char *field, int base)
{
    char path[64], line[256];
    unsigned long value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", id);
    FILE *status = fopen(path, "r");
    if (!status)
        die("thread %d is gone", id);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, field, strlen(field)) == 0)
            value = strtoul(line + strlen(field), NULL, base);
    fclose(status);
    return value;
}

static void load_image(struct process *process)
{
    char link[64], path[4096];
    if (!want_tree)
        return;
    snprintf(link, sizeof link, "/proc/%d/exe", process->id);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        die("%s: %s", link, strerror(errno));
    path[length] = 0;
    process->image = image_read(path);
    process->names = calloc(process->image->symbol_count + 1, sizeof *process->names);
    for (size_t i = 0; i < process->image->symbol_count; i++)
        process->names[i] = intern(process->image->symbols[i].name);
}

static struct process *process_of(pid_t task)
{
    pid_t id = (pid_t)status_field(task, "Tgid:", 10);
    struct process *process, *parent = NULL;
    for (process = processes; process; process = process->next)
        if (process->id == id)
            return process;
    pid_t parent_id = (pid_t)status_field(task, "PPid:", 10);
    for (parent = processes; parent && parent->id != parent_id; parent = parent->next)
        ;
    process = calloc(1, sizeof *process);
    *process = (struct process){
        .id = id, .recording = parent ? parent->recording : start_on, .next = processes};
    processes = process;
    if (parent) {
        process->image = parent->image;
        process->names = parent->names;
    }
    return process;
}

static struct task *task_of(pid_t id)
{
    struct task *task;
    for (task = tasks; task && task->id != id; task = task->next)
        ;
    if (task)
        return task;
    task = calloc(1, sizeof *task);
    *task = (struct task){.id = id, .process = process_of(id), .fresh = true, .next = tasks};
    return tasks = task;
}

static void forget_task(struct task *task)
{
    struct task **link = &tasks;
    while (*link != task)
        link = &(*link)->next;
    *link = task->next;
    free(task);
}

/* ---- stepping ---- */

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
    walk_stack(&walk, (struct registers){registers.rip, registers.rsp, registers.rbp});
    uint32_t node = 0;
    for (size_t i = walk.count; i-- > 0;) {
        int frame = walk.frames[i];
        char marker[32];
        snprintf(marker, sizeof marker, "(signal %d)", FRAME_SIGNAL_BASE - frame);
        node = child_of(node, frame == FRAME_ANON          ? intern("[anon]")
                              : frame <= FRAME_SIGNAL_BASE ? intern(marker)
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

/* Readies the task for the instruction at its rip: what it is, and whose. */
static void arrive(struct task *task, bool path_may_have_moved)
{
    uint8_t code[INSTRUCTION_BYTES];
    task->rip = read_rip(task);
    task->flow = decode_flow(code, memory_read(task->id, task->rip, code, sizeof code));
    if (!want_tree || image_is_stub(task->process->image, task->rip))
        return;
    int symbol = image_symbol_at(task->process->image, task->rip);
    int function = symbol == NO_SYMBOL ? NO_SYMBOL : task->process->image->symbols[symbol].function;
    if (path_may_have_moved || function != task->function)
        look_up_path(task);
    task->function = function;
}

static void count_instruction(struct task *task)
{
    if (!task->process->recording)
        return;
    total++;
    if (want_tree)
        nodes[task->node].count++;
}

enum { REQUEST_ZERO = 1, REQUEST_TOGGLE = 2, REQUEST_START = 4, REQUEST_STOP = 5 };

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
    case REQUEST_ZERO:
        total = 0;
        for (size_t i = 0; i < node_count; i++)
            nodes[i].count = 0;
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
        remember_signal(task->process, registers.rsp + 8, task->delivered);
        arrive(task, true);
        return;
    }
    if (task->flow == FLOW_REPEAT && rip == task->rip)
        return;
    if (task->flow == FLOW_NEXT && rip == task->rip)
        die("a step at %#lx went nowhere", (unsigned long)task->rip);
    count_instruction(task);
    if (task->flow == FLOW_REQUEST)
        obey_request(task);
    arrive(task, task->flow == FLOW_CALL || task->flow == FLOW_RETURN ||
                     task->flow == FLOW_SYSCALL || task->flow == FLOW_JUMP_INDIRECT);
}

static void resume(struct task *task, int signal)
{
    task->delivered = signal;
    task->enters_handler =
        signal && (status_field(task->id, "SigCgt:", 16) >> (signal - 1) & 1) != 0;
    task->running = true;
    if (ptrace(PTRACE_SINGLESTEP, task->id, NULL, (long)signal) < 0 && errno != ESRCH)
        die("step of %d: %s", task->id, strerror(errno));
}

static void task_stopped(struct task *task, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16;
    task->running = false;
    if (task->fresh && (signal == SIGSTOP || event == PTRACE_EVENT_STOP)) {
        task->fresh = false;
        arrive(task, true);
        resume(task, 0);
    } else if (event == PTRACE_EVENT_EXEC) {
        load_image(task->process);
        resume(task, 0);
    } else if (event) {
        resume(task, 0);
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
    forget_task(task);
}

static int run(pid_t first)
{
    int exit_status = 0, status;
    pid_t id;
    while ((id = waitpid(-1, &status, __WALL)) > 0) {
        struct task *task = NULL;
        if (WIFSTOPPED(status)) {
            task_stopped(task_of(id), status);
            continue;
        }
        for (task = tasks; task && task->id != id; task = task->next)
            ;
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
    load_image(task->process);
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
    fprintf(out, "total %llu\n", (unsigned long long)total);
    for (uint32_t i = 1; i < node_count; i++) {
        if (!nodes[i].count)
            continue;
        print_path(out, i);
        fprintf(out, " %llu\n", (unsigned long long)nodes[i].count);
    }
    if (path)
        fclose(out);
}

int main(int argc, char **argv)
{
    const char *output = NULL;
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
        else if (strcmp(argv[i], "--start=off") == 0)
            start_on = false;
        else
            die("unknown option %s", argv[i]);
    }
    if (i >= argc)
        die("usage: step [-o FILE] [--folded] [--start=off] [--] PROGRAM [ARGS...]");
    int status = run(start(argv + i));
    report(output);
    return status;
}
