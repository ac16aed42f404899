/*
 * cache.h: the code cache: translated blocks, the exits out of them, and how to find both.
 *
 *   data      tables of the targets of indirect jumps and calls (jumps.c), constants
 *   hot   ->  blocks, one after the other            the program's instructions
 *   cold  ->  what sequences of fast.c do rarely, entries of blocks for indirect branches
 *   stubs <-  from the end: exits that are taken once, then linked past
 *
 * The memory is one file mapped twice: executable at CACHE_START, writable at CACHE_WRITE; no
 * mapping is both.
 *
 * There are two such regions (the data and the code that all blocks share are the first one's, and
 * stay). Blocks are added to one; when it is full, the other is begun anew, a *generation* of
 * blocks, and nothing leads into the full one any more. Threads may still be in there: each leaves
 * it at its next branch, and renews what it remembers of cache addresses as it does. A region is
 * written over only when all threads have done so since it was left. A block stays where it is
 * for as long.
 *
 * A block has, for every place in its code where a signal may find it, a `struct mark`: the
 * program's pc and which registers wait elsewhere there. So a fault or an
 * asynchronous signal can always be told the exact state of the program.
 */
#ifndef TRUEFLAME_NATIVE_CACHE_H
#define TRUEFLAME_NATIVE_CACHE_H

#include "engines/native/arena.h"
#include <stdbool.h>
#include <stdint.h>

enum mark_kind {
    MARK_PROGRAM, /* here the program is at `pc`, once `spilled` registers are restored */
    MARK_ENGINE,  /* between two states of the program: run on to the next mark */
    MARK_CHECK,   /* likewise; what faults compares the program's code, and a branch is next */
};

/* rsp is never spilled: GIVEN_LOWER (vectors.h). */
#define MARK_LOWER (1 << 4)

struct mark {
    uint16_t offset;     /* from the block's code on */
    uint16_t spilled;    /* bit n: register n waits, while `given` in spill[n]; MARK_LOWER */
    uint8_t kind : 2;    /* enum mark_kind */
    uint8_t given : 1;   /* the vector registers are the program's */
    uint8_t looked : 1;  /* the context may be another than the one that was counted in */
    uint8_t segment : 4; /* of the block */
    int8_t ahead;        /* instructions already counted but not yet executed */
    uint16_t pc_offset;  /* from the block's pc on */
};

struct block {
    uint64_t pc;     /* of the program */
    uint32_t number; /* no other block ever has it */
    uint32_t code;   /* offset in the cache */
    uint32_t code_size;
    uint32_t source_size; /* bytes from pc on that were translated */
    uint16_t mark_count;
    uint16_t flags;     /* enum block_flags */
    struct mark *marks; /* sorted by offset */
    uint32_t *segments; /* the core's numbers of its segments; line detail only */
    uint16_t segment_count;
    uint8_t
        before_bytes; /* of what stands right before its code, and counts what a branch has yet to */
    uint32_t before;  /* count: that, 0: nothing (struct coming) */
    uint32_t incoming;              /* first exit that is linked to this block, 0: none */
    uint32_t next_in_page;          /* number of another block that begins in the same page */
    struct code_function *function; /* NULL: a PLT or anonymous code */
    /* fast.h, jumps.h; 0: not made yet */
    uint32_t call_entry, jump_entry, local_entry, transition, transition_entry;
};

enum block_flags {
    BLOCK_DEAD = 1,
    BLOCK_PLT = 2,
    BLOCK_FLAGS_LIVE = 4, /* arithmetic flags may be read before they are written */
    BLOCK_LEAF = 8,       /* runs without a frame (leaves.h) */
};

enum exit_kind {
    EXIT_NONE,
    EXIT_JUMP,          /* to `target`, by a branch that can be linked */
    EXIT_JUMP_INDIRECT, /* to thread.target */
    EXIT_CALL,          /* to `target`, return address pushed */
    EXIT_CALL_INDIRECT, /* to thread.target, return address pushed */
    EXIT_RETURN,        /* to thread.target, return address popped */
    EXIT_ENTER,         /* to `target`: a call was made, the context is right */
    EXIT_ENTERED,       /* to thread.target: a call was made, the context is right */
    EXIT_LEAF_ENTER,    /* to `target`, as a leaf (leaves.h) */
    EXIT_LEAF_END,      /* to `target`, where a leaf needs its frame */
    EXIT_LEAF_RETURN,   /* to thread.target, return address popped, elsewhere than was expected */
    EXIT_MISMATCH,      /* to `target`, which belongs to another function */
    EXIT_COUNT,         /* lines.c: no counter for `site` in this context; back to `landing` */
    EXIT_PYTHON_ENTER,  /* python_watch.c; these five go on at thread.code */
    EXIT_PYTHON_FRAME,
    EXIT_PYTHON_LEAVE,
    EXIT_PYTHON_LINE,
    EXIT_PYTHON_FORGET,
    EXIT_SWAP,    /* a function begins that swaps stacks; goes on at `landing` */
    EXIT_REQUEST, /* requests.c; on to `target` */
    EXIT_CHANGED, /* the source at `target` is not what was translated */
    EXIT_SYSCALL,
    EXIT_EMULATED, /* repeatable.c does what `site` is about; on to `target` */
    EXIT_LEASE,    /* turns.c: too short for the `site` instructions at `target` */
    EXIT_BUDGET,   /* turns.c: the last instruction before `target` has run */
    EXIT_NO_CODE,  /* nothing executable, or no instruction of ours, at `target` */
    EXIT_REFUSED,
};

enum exit_link {
    LINK_NONE,
    LINK_PATCH,  /* `patch` leads to the block */
    LINK_BRANCH, /* so does `branch`, to before the block's code */
};

struct exit {
    uint64_t target;        /* where the program goes on; EXIT_CALL_INDIRECT: unknown */
    uint64_t pc;            /* of the branch */
    uint32_t patch;         /* offset of the 32-bit displacement that linking rewrites, 0: none;
                             * EXIT_COUNT: that python_counts.c rewrites */
    uint32_t block;         /* number of the block that has this exit */
    uint32_t next_incoming; /* next exit that is linked to the same block */
    uint32_t stub;          /* offset of its code */
    uint8_t kind;           /* enum exit_kind */
    uint8_t length;         /* bytes of the branch instruction */
    uint8_t linked;         /* enum exit_link */
    uint8_t slot;     /* an indirect call or jump: through a PLT's slot, which was not foreseen;
                             * EXIT_COUNT: python_counts.h's */
    uint32_t landing; /* cache address: of calls, where their returns go on; of a conditional
                             * branch that has yet to count, where it does */
    uint16_t pops;    /* EXIT_RETURN: bytes dropped besides the address; calls of leaves:
                             * instructions that the landing's block has yet to count */
    union {
        uint32_t site;   /* calls: the core's number, 0 until it is asked for; system calls: the
                          * core's number of the segment they end */
        uint32_t before; /* such a branch: what it has yet to count (struct coming) */
    };
    uint32_t branch; /* and the offset of its displacement, 0: there is none */
    const char *refusal;
};

/* How a block is entered, if it is made now, this time and most likely the next: what that takes
 * stands right before its code. */
struct coming {
    /* By a branch that has yet to count: so many instructions; at line detail, once in the place
     * with this number. */
    unsigned before;
    enum { COMING_PLAIN, COMING_LOCAL, COMING_CALLED } by; /* an indirect jump or call (jumps.h) */
};

struct cache {
    struct lock lock;          /* held while blocks are made, linked or removed, and in the core */
    uint32_t hot, cold, stubs; /* offsets where each goes on */
    uint32_t generation;
    uint32_t shared_end; /* offset of the end of the code that all blocks share */
    struct exit *exits;  /* row 0 is unused */
    uint32_t exit_count, exit_capacity;
    struct block *blocks; /* row 0 is unused */
    uint32_t block_count, block_capacity;
    uint32_t *slots; /* hash of pc to block number */
    uint32_t slot_mask;
    uint32_t *by_code; /* block number for each CODE_GRAIN bytes of cache, for signals */
};

extern struct cache cache;

/* Rows of exits and blocks move when more are added: refer to them by number across calls. */

void cache_init(void);

/* In the child of a fork, which does not inherit the memory: an empty cache. */
void cache_restart(void);

/* The block that begins at `pc`, or NULL; that of a leaf. */
struct block *cache_find(uint64_t pc);
struct block *cache_find_leaf(uint64_t pc);

/* The block whose code holds cache address `address`, or NULL. */
struct block *cache_find_code(uint64_t address);

/* A table for each of two kinds of target, one for targets within a function, which are filled at once,
 * a further one for each kind, then the constants of vectors.h. */
#define CACHE_TABLE_BYTES (65536u * 8)
#define CACHE_LOCAL_TABLE (2 * CACHE_TABLE_BYTES)
#define CACHE_FAR_TABLES  (3 * CACHE_TABLE_BYTES)
#define CACHE_CONSTANTS   (5 * CACHE_TABLE_BYTES)
#define CACHE_DATA_BYTES  (CACHE_CONSTANTS + 8192)

/* By the options: less than CACHE_SIZE, for tests. */
void cache_limit(uint64_t size_bytes);

/* Is there room for the largest block? For some more? */
bool cache_is_full(void);
bool cache_has_room(void);

/* Before a block is made. */
void cache_keep_huge(void);

/* What all blocks share has been emitted: it stays. */
void cache_keep_shared(void);

/* The next generation. All threads have renewed what they remember since the last. */
void cache_next_generation(void);

/* Is `code` a cache address that is neither of this generation nor shared? */
bool cache_is_old(uint64_t code);

struct block *cache_add_block(uint64_t pc);
void cache_publish(struct block *block); /* its code is complete: it may be found */
uint32_t cache_add_exit(void);

/* The 32 bits at cache offset `offset`, which do not straddle two cache lines, become `value`. */
void cache_patch(uint32_t offset, uint32_t value);

/* The branch of exit `id` goes to cache address `code`, an entry of `to`, from now on. */
void cache_link(uint32_t id, struct block *to, uint64_t code);

/* Whoever runs in the cache leaves it after a block or two. */
void cache_unlink_all(void);

/* Blocks with source bytes in [start, end) are gone. */
void cache_invalidate(uint64_t start, uint64_t end);

/* Blocks with the instruction at `pc` are to be made anew, though it has not changed: threads that are
 * in the old ones, and returns into them, go on there. */
void cache_remake(uint64_t pc);
void cache_remake_function(const struct code_function *function);

static inline uint8_t *cache_writable(uint32_t offset)
{
    return (uint8_t *)(0x650010000000ul + offset);
}

#endif
