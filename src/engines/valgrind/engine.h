/*
 * engine.h: what the files of the Valgrind engine share.
 */
#ifndef TRUEFLAME_VALGRIND_ENGINE_H
#define TRUEFLAME_VALGRIND_ENGINE_H

#include "core/core.h"
#include "core/raw.h"

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* One per guest address that was ever translated: what its block's inline code refers to. Found
 * again when the block is translated again, so that constants in old and new code agree. */
struct block_info {
    uint64_t address;
    struct code_function *function; /* NULL: a PLT or anonymous code */
    struct code_module *module;
    struct block_info *next; /* in its hash bucket */
    struct block_info *next_in_page;
    uint32_t number; /* what hot.block says while it executes, if it says that */
    Bool says_number;
    uint8_t slots_given; /* where a function begins: to call sites of its, children.h */
    uint32_t instructions;
    uint8_t *lengths;  /* of the instructions, in bytes */
    uint8_t *marks;    /* enum instruction_mark, of each */
    uint32_t capacity; /* of those two */
    Bool after_call;   /* a call of CPython's evaluator comes back here */
    Bool says_place;   /* keeps the program counter up to date, see places.h */
    /* Of a block of CPython's evaluator, as it was when it was translated: */
    Bool knows_word;   /* where the word with the current frame is */
    Bool brings_frame; /* the evaluator: the frame that it is called with runs from its start on */
    Bool looks_at_start; /* at that word */
};

enum instruction_mark { MARK_NONE, MARK_SEGMENT, MARK_REPEATS };

struct engine_options {
    struct core_options core;
    const HChar *run_folder;  /* raw files go here */
    const HChar *program;     /* where the first program was found */
    ULong budget;             /* instructions, 0: none */
    ULong checkpoint;         /* instructions, 0: never */
    Bool progress;            /* keep run_folder/status.PID up to date */
    Bool repeatable;          /* randomness, time and the order of threads are fixed */
    Bool python;              /* Python frames are watched */
    ULong python_retry;       /* the process that ends if they cannot be, 0: none */
    Bool python_seed;         /* interpreters that have no hash seed are given one */
    const HChar *trampolines; /* for Pythons that others start, NULL: none */
};

extern struct engine_options options;
extern struct core core;
extern struct hot *hot; /* of the running thread */
extern struct thread *running;

/* Does any block keep the running count? Budget, checkpoints and progress need it. */
Bool engine_counts_instructions(void);

/* instrument.c */
IRSB *instrument_block(VgCallbackClosure *closure, IRSB *block, const VexGuestLayout *layout,
                       const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                       IRType host_word);

/* blocks.c */
struct block_info *block_info_at(Addr address);
/* The block that did not get beyond its instruction at `pc`: the one that hot.block says, or else
 * any that contains it, since all of those end alike (plan.h). NULL if there is none. */
struct block_info *block_stopped_at(Addr pc);
/* Takes back what was counted for the instructions of the block from `pc` on, if anything was. */
void block_take_back(const struct block_info *info, Addr pc);
/* The code there is to be translated anew, once that is possible. */
void blocks_make_stale(Addr start, Addr end);

/* changes.c: code of a file in [start, end) may be other code from now on; and what mmap did. */
void changes_expected(Addr start, Addr end);
void changes_note_mapping(Addr start, UWord protection, UWord flags);
/* To be called where Valgrind allows translations to be discarded. */
void blocks_discard_stale(void);

/* slow.c, counters.c, events.c, main.c: called from inline code */
VG_REGPARM(1) void slow_jump(UWord target);
VG_REGPARM(1) void slow_tail_call(UWord target);
VG_REGPARM(1) void slow_call(UWord site);
VG_REGPARM(2) void slow_call_indirect(UWord site, UWord target);
VG_REGPARM(2) void slow_stub(UWord site, UWord target);
VG_REGPARM(0) void slow_grow(void);
VG_REGPARM(0) void slow_return(void);
VG_REGPARM(1) void slow_return_to(UWord target);
VG_REGPARM(1) void slow_count(ULong key);
VG_REGPARM(1) void slow_hello(UWord registers);
VG_REGPARM(1) void slow_budget(UWord pc);
VG_REGPARM(3) void slow_python_enter(struct python_module *module, UWord state, UWord called);
VG_REGPARM(1) void slow_python_frame(UWord frame);
VG_REGPARM(1) void slow_python_line(UWord left);
VG_REGPARM(1) void slow_python_freed(UWord code);
VG_REGPARM(0) void slow_python_leave(void);
VG_REGPARM(0) void slow_swap(void);

/* output.c */
void output_begin(void);
void output_write(ULong ending, ULong exit_status);
void output_forked(ULong ordinal);
void output_progress(void);
/* Before the program becomes another user. */
void output_before_user(UInt user);
/* Is this the program that `record` was asked for, and not one that it became or started? */
Bool output_is_first_program(void);
/* What a checkpoint wrote of this program does not count: it begins once more. */
void output_forget(void);

/* python_again.c: when the tool begins, before Valgrind blocks signals; before the program runs */
void python_note_signals(void);
/* Is the program to be given a hash seed? `called`: its first argument. */
Bool python_fixes_seed(const HChar *program, HChar *called, HChar **environment);
void python_begin(const HChar *program, HChar **arguments, HChar **environment);
/* A CPython that cannot be watched. Does not return if the program is started once more. */
void python_refuse(struct python_module *python);

/* events.c */
void events_register(void);
/* A fault in the middle of a block, at the program counter: what comes after it has not run. */
void events_fault(ThreadId tid);

/* Of Valgrind's core, though not in its public headers: ends the process at once. */
extern void VG_(exit)(Int status) __attribute__((noreturn));
/* A thread's state; the registers, with their shadows behind them, are in it. */
extern void *VG_(get_ThreadState)(ThreadId tid);
/* As the core itself does after system calls that unmap; the public function insists on a request
 * by the program. */
extern void VG_(discard_translations)(Addr start, ULong size_bytes, const HChar *who);

/* platform.c: a system call of our own, which the program does not see; the fourth argument is 0 */
UWord call_kernel(UWord number, UWord a, UWord b, UWord c);
/* The program unmapped memory, or took rights from it. */
void platform_forget_readable(void);

/* repeatable.c */
void repeatable_random(UChar *bytes, SizeT size_bytes);
void repeatable_before_call(ThreadId tid, UInt number, const UWord *arguments);
void repeatable_after_call(ThreadId tid, UInt number, const UWord *arguments, SysRes result);

/* turns.c */
/* A thread is about to be created; its creation failed. */
void turns_expect(void);
void turns_expect_no_more(void);
/* Gives back what another program should not inherit. */
void turns_before_exec(void);

/* environment.c: the program must not see that it runs here */
void environment_restore(void);
/* Exec is about to be called with these arguments; it came back. */
void environment_note_exec(UWord arguments);
/* Or as the program of this name. */
void environment_leave_name(const HChar *name);
void environment_exec_failed(void);
/* The first thread begins, where environment_restore has put its stack. */
void environment_begin(ThreadId tid);

#endif
