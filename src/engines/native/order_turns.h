/*
 * order_turns.h: what order.c and waits.c share: each thread's place in the order, and who is next.
 */
#ifndef TRUEFLAME_NATIVE_ORDER_TURNS_H
#define TRUEFLAME_NATIVE_ORDER_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum turn_state { TURN_FREE, TURN_STARTING, TURN_AWAY, TURN_WAITING, TURN_HOLDING, TURN_KEEPING };
enum turn_order { ORDER_NONE, ORDER_CHOOSE, ORDER_GO };
enum told { TOLD_NOTHING, TOLD_TIME_IS_OVER, TOLD_KEEP_TIME };

struct turn {
    uint64_t number; /* they are in the order in which they were made */
    long tid;
    int32_t file;      /* /proc/TID/task/TID/stat, -1: not open */
    uint32_t state;    /* enum turn_state */
    uint32_t order;    /* enum turn_order; what a thread that waits for the turn sleeps on */
    bool is_other;     /* another process, made by vfork */
    bool waits_for_it; /* for such a one */

    /* Of one that is AWAY or KEEPING: waits.c's. */
    uint64_t deadline;    /* waits until then; 0: not until some time */
    uint64_t address;     /* of the futex that it waits on */
    uint32_t flags, bits; /* the futex's, and those it waits with */
    uint32_t told;        /* enum told */
    uint32_t nap;         /* 0, for who sleeps */
};

struct order {
    bool is_on;
    uint32_t guard;     /* 1 while someone reads or changes what follows */
    struct turn *turns; /* freed ones are used again, sooner or later */
    uint32_t used;      /* all after this are free */
    uint64_t made;      /* so many */
    uint64_t last;      /* the number of who had the turn last */
    bool taken;         /* someone has it, or chooses who gets it, or keeps time */
    bool keeps_time;    /* that */
    uint32_t came;      /* so many have asked since; what the keeper sleeps on */
    bool is_abandoned;  /* the process is gone, and with it whoever had the turn */
};

extern struct order order;

void order_guard_take(void);
void order_guard_give(void);

/* Until all threads are, without the guard. */
void order_wait_for_rest(void);

/* The first one after the number `from`, in a circle, that waits for the turn; NULL: nobody does. */
struct turn *order_next(uint64_t from);

void order_tell(struct turn *turn, enum turn_order what);

#endif
