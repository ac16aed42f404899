/*
 * translation.h: a block while it is being made; shared by the files that emit its parts.
 */
#ifndef TRUEFLAME_NATIVE_TRANSLATION_H
#define TRUEFLAME_NATIVE_TRANSLATION_H

#include "engines/native/cache.h"
#include "engines/native/copy.h"
#include "engines/native/lines.h"
#include "engines/native/vectors.h"
#include "engines/x86_64/code_reader.h"

#define INSTRUCTIONS_MAX 100 /* a block's; `ahead` has to fit in eight bits */
#define BRANCHES_MAX     8   /* and as many segments */
#define MARKS_MAX        (INSTRUCTIONS_MAX * 6)
#define STUB_BYTES       20

/* A branch that is taken by way of what counts. */
struct side_exit {
    unsigned index;     /* of the instruction */
    unsigned uncounted; /* to be counted; at line detail: */
    struct line_count count;
    struct emitter branch; /* where its displacement is */
};

struct translation {
    struct emitter code;
    uint64_t pc;
    struct code_reader reader;
    const uint8_t *source; /* what it has read, from pc on */
    unsigned count;
    unsigned source_size;
    enum { END_BRANCH, END_CUT, END_NO_CODE, END_REQUEST, END_BUDGET, END_LEAF } end;
    struct instruction instructions[INSTRUCTIONS_MAX];
    uint16_t offsets[INSTRUCTIONS_MAX + 1]; /* of each instruction from pc */
    struct mark marks[MARKS_MAX];
    unsigned mark_count;
    int ahead;
    unsigned uncounted;     /* instructions that ran by here and are in no counter yet */
    unsigned run;           /* line detail: the first instruction that is in no counter yet */
    unsigned counted_ahead; /* by the landing behind the segment's last instruction, a call */
    unsigned carried;       /* left to what follows by the segment's last instruction, a call */
    unsigned folded;        /* instructions that the segment's last one has yet to count; at line */
    struct line_count folded_line; /* detail the run, if it has a place */
    uint32_t block;                /* number */
    struct code_function *function;
    unsigned part; /* at most so many instructions and no branch, the last to run; 0: a block */
    struct python_module *python; /* watched; NULL: this is not its evaluator */
    bool evaluates;               /* this is where its frames run */
    bool frame_stored;            /* it may have another frame than when it was last looked at */
    bool looked;                  /* since the branch that comes next was counted */
    bool ends_code;               /* python_watch.c: a code object */
    bool plt;
    bool leaf;                /* leaves.h */
    bool checked;             /* the source may change: compared at every entry */
    enum vectors_given given; /* the vector registers */
    bool upper_zero;          /* after what they were given to */
    struct {
        uint8_t
            *end; /* of a branch ahead, to what follows the call's sequence; NULL: there is none */
        uint64_t address, otherwise;
    } unverified; /* returns.h */
    struct side_exit sides[BRANCHES_MAX];
    unsigned side_count;
    uint32_t segments[BRANCHES_MAX + 2];
    unsigned segment_count;
};

void add_mark(struct translation *t, enum mark_kind kind, unsigned pc_offset, unsigned spilled,
              int ahead);

/* A new exit of the block for its instruction `index`. */
uint32_t new_exit(struct translation *t, unsigned index, enum exit_kind kind, uint64_t target);

/* Leaves the cache by exit `id`. */
void emit_stub(struct emitter *e, uint32_t id);

/* Before instruction `index`: leaves the cache by a new exit, and goes on after it. */
void emit_report(struct translation *t, unsigned index, enum exit_kind kind);

/* A displacement here leads to a stub in the cold part until the exit is linked. */
void emit_linkable(struct emitter *e, uint32_t id);

/* The vector registers are the program's from here on, or the cache's. */
void give_vectors(struct translation *t, enum vectors_given given);

/* What the block's instruction `index` becomes. */
void emit_instruction(struct translation *t, unsigned index);

/* All six flags are overwritten before any is read, from instruction `at` on. */
bool flags_dead(const struct translation *t, unsigned at);

/* The same for code that is not part of the block: a look ahead; for where its branch `index` goes. */
bool flags_dead_at(uint64_t pc);
bool flags_dead_at_target(const struct translation *t, unsigned index);

uint64_t branch_target(const struct translation *t, unsigned index);

/* fast.c */
uint32_t call_site(struct translation *t, unsigned index);
void emit_call(struct translation *t, unsigned index);
void emit_return(struct translation *t, unsigned index);
/* rcx = the target of the indirect branch; spills rcx. */
void emit_load_target(struct translation *t, unsigned index);
/* rcx = the word at `slot`; spills rcx. */
void emit_load_slot(struct emitter *e, uint64_t slot);

/* jumps.c */
void emit_indirect_jump(struct translation *t, unsigned index);

/* Does the sequence for instruction `index` count its whole segment? It has the flags free. */
bool folds_count(const struct translation *t, unsigned index);

#endif
