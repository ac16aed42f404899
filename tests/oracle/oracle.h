/*
 * oracle.h: the parts of the single-stepper.
 *
 *   step.c     runs the program one instruction at a time and counts
 *   decode.c   says what an instruction does to the flow of control
 *   walk.c     reads the call path out of the stopped program, by frame pointers
 *   image.c    the symbols of a static ELF file
 *
 * The oracle shares no code with the profiler, and no method: the profiler keeps a shadow stack as
 * the program runs, the oracle keeps nothing and looks at the program's own stack.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NO_SYMBOL (-1)

struct symbol {
    uint64_t start, end;
    const char *name;
    int function;  /* the symbol whose frame this code belongs to: itself, unless a cold part */
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

/* Fills frames with the path of the stopped program. */
void walk_stack(struct walk *walk, struct registers registers);

size_t memory_read(pid_t pid, uint64_t address, void *into, size_t count);
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
