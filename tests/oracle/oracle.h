/*
 * oracle.h: the parts of the single-stepper.
 *
 *   step.c     runs the program one instruction at a time and counts
 *   decode.c   says what an instruction does to the flow of control
 *   walk.c     reads the call path out of the stopped program, by frame pointers
 *   cfi.c      the same by unwind tables, for programs with libraries in them
 *   image.c    the symbols of a static ELF file
 *   tasks.c    processes, threads and the signals they got
 *   tree.c     the paths that were seen and their counts
 *   ahead.c    runs at full speed what is not recorded
 *
 * The oracle shares no code with the profiler, and no method: the profiler keeps a shadow stack as
 * the program runs, the oracle keeps nothing and looks at the program's own stack.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define NO_SYMBOL (-1)

struct symbol {
    uint64_t start, end;
    const char *name;
    int function;   /* the symbol whose frame this code belongs to: itself, unless a cold part */
    bool has_frame; /* starts with `push %rbp; mov %rsp,%rbp` */
    uint64_t push_address;
};

struct image {
    struct symbol *symbols; /* sorted, not overlapping */
    size_t symbol_count;
    struct {
        uint64_t start, end;
    } stubs[8]; /* .plt and its kin */
    size_t stub_count;
    void *file;
    size_t file_size;
};

/* Reads the ELF file; dies with a sentence where it cannot. */
struct image *image_read(const char *path);
int image_symbol_at(const struct image *image, uint64_t address);
bool image_is_stub(const struct image *image, uint64_t address);

enum flow {
    FLOW_NEXT,
    FLOW_REPEAT, /* REP and a string instruction: runs many times, counts once */
    FLOW_CALL,
    FLOW_RETURN,
    FLOW_JUMP,
    FLOW_JUMP_INDIRECT,
    FLOW_BRANCH,
    FLOW_SYSCALL,
    FLOW_REQUEST, /* the last instruction of a client request */
};

enum { INSTRUCTION_BYTES = 15 };
enum flow decode_flow(const uint8_t *bytes, size_t count);

struct registers {
    uint64_t rip, rsp, rbp;
};

/* Frames are symbol numbers, or one of these. */
enum { FRAME_ANON = -1, FRAME_SIGNAL_BASE = -1000 /* minus the signal's number */ };

enum { WALK_MAX = 100000 };

struct walk {
    pid_t pid;
    const struct image *image;
    int (*signal_at)(void *data, uint64_t ucontext); /* which signal made this frame */
    void *data;
    int frames[WALK_MAX]; /* innermost first */
    size_t count;
};

/* Fills frames with the path of the stopped program. The second is for one process of one thread,
 * which runs the program at `path`. */
void walk_stack(struct walk *walk, struct registers registers);
void walk_stack_by_tables(struct walk *walk, const char *path);

enum { AHEAD_MAX = 64 };

struct ahead {
    uint64_t addresses[AHEAD_MAX]; /* of the last instruction of each request */
    size_t count;
};

void ahead_find_requests(struct ahead *ahead, const struct image *image);
void ahead_set(const struct ahead *ahead, pid_t task);
void ahead_clear(const struct ahead *ahead, pid_t task);
bool ahead_is_request(const struct ahead *ahead, uint64_t address);

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
    bool fresh;          /* its first stop is the one that every traced child makes */
    bool running;        /* resumed and not stopped since */
    int delivered;       /* the signal it was resumed with */
    bool enters_handler; /* and that signal has a handler */
    bool after_call;     /* what it executed last was a system call */
    bool makes_again;    /* which a signal without a handler may have made the kernel do again */
    uint64_t rip, next_rip;
    enum flow flow; /* of the instruction at rip */
    bool ends_unwind;
    int function; /* the symbol that has rip */
    uint32_t node;
    struct task *next;
};

/* The task with this id, made when it is new; the other finds it or NULL. */
struct task *task_of(pid_t id);
struct task *task_find(pid_t id);
void task_forget(struct task *task);
/* Reads the symbols of the program that the process runs now. */
void process_load_image(struct process *process);
/* A number in /proc/ID/status. */
unsigned long status_field(pid_t id, const char *field, int base);
/* Which signal made the frame whose ucontext is there; `process` is a struct process. */
void signal_remember(struct process *process, uint64_t ucontext, int number);
int signal_at(void *process, uint64_t ucontext);

/* Nodes are numbers; 0 stands above the roots. Names are interned, so that one name is one pointer,
 * whichever program it came from. */
const char *tree_intern(const char *name);
uint32_t tree_child(uint32_t parent, const char *name);
uint32_t tree_parent(uint32_t node);
const char *tree_name(uint32_t node);
void tree_count(uint32_t node);
/* What was counted since the last part ended is put away, or forgotten. */
void tree_end_part(bool keep);
void tree_report(FILE *out);

size_t memory_read(pid_t pid, uint64_t address, void *into, size_t count);
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
