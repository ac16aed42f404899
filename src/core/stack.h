/*
 * stack.h: what the files of the shadow stacks share: stacks.c, which has them, stack_moved.c,
 * stack_pushed.c and stack_swapped.c, and stack.c, which explains events with them. Engines use
 * core.h.
 */
#ifndef TRUEFLAME_CORE_STACK_H
#define TRUEFLAME_CORE_STACK_H

#include "core/core.h"

/* ---- stacks.c ---- */

/* An empty stack whose bottom hangs at `context`; nobody runs on it yet. */
struct stack *stack_new(struct core *core, struct context *context, uint64_t sp);
void stack_release(struct core *core, struct stack *stack);
/* Room for so many entries on a stack that nobody runs on and that is empty. */
void stack_reserve(struct stack *stack, size_t count);
/* Finds the memory that the stack lies in. */
void stack_note_mapping(struct stack *stack, uint64_t sp);
/* Is that memory the mapping that the stack lies in? */
bool stack_is_in(const struct stack *stack, uint64_t start, uint64_t end);

/* The running thread leaves its stack, goes on on one, or both. */
void stack_save(struct core *core, struct thread *thread);
void stack_load(struct core *core, struct thread *thread, struct stack *stack);
void stack_switch_to(struct core *core, struct thread *thread, struct stack *stack);
/* A stack without a past, of which sp is the beginning: the bottom is put so much higher. */
#define STACK_START_ROOM 64
void stack_start_new(struct core *core, struct thread *thread, uint64_t sp);
/* The same, but nobody runs on it yet. */
struct stack *stack_at(struct core *core, struct thread *thread, uint64_t sp);

/* The suspended stack that goes on there, and the entry that says so; NULL for none. A program that
 * moves stacks may have put another one that waits at the same place to where this one was: `surely`
 * not. */
struct stack *stack_find_suspended(struct core *core, uint64_t target, uint64_t sp, bool surely,
                                   const struct stack_entry **entry);
void stack_unsuspend(struct core *core, struct stack *stack);

/* The stack that sp lies on, NULL if that is not known. */
struct stack *stack_owner_of(struct core *core, const struct thread *thread, uint64_t sp);

/* The first entry near `top` that was made on another stack than those below it, NULL if none. */
struct stack_entry *stack_switch_point(const struct stack *stack, struct stack_entry *top);

bool stack_entry_says(const struct stack_entry *entry, uint64_t target, uint64_t sp);

/* ---- stack_pushed.c ---- */

/* Does the stack end with the return address? What runs then will return there, at the start of a
 * function or not. */
bool stack_has_on_top(const struct core *core, uint64_t sp, uint64_t return_address);

/* Does the return address of the call lie on the stack, where it was put or, moved, from `lowest`
 * on? If not, the call is over. True where that cannot be said. */
bool stack_will_return(const struct core *core, const struct stack_entry *entry, uint64_t lowest);

/* Does the return address of the call lie above sp, before its caller's frame ends? Where. */
bool stack_find_moved_return(const struct core *core, const struct stack_entry *call, uint64_t sp,
                             uint64_t *place);

/* The function that the jump to the start of one at `target` is a call from, because a return
 * address was pushed for it by hand: *back. NULL: it is no call. */
struct code_function *stack_pushed_caller(struct core *core, const struct thread *thread,
                                          uint64_t target, uint64_t sp, uint64_t *back);

/* The length of the call before a return address, 0 if there is none. */
unsigned stack_call_length(uint64_t return_address);

/* ---- stack_moved.c ---- */

/* The newest entry of the running stack that says exactly this; NULL if none does. */
struct stack_entry *stack_find_below(const struct thread *thread, uint64_t target, uint64_t sp);

/* The running stack, or one that waits, was copied elsewhere by the program: it gets its new place and
 * is the running one. The result is its entry to return to, NULL where nothing moved. */
struct stack_entry *stack_follow_grown(struct core *core, struct thread *thread, uint64_t target,
                                       uint64_t sp);
struct stack_entry *stack_follow_moved(struct core *core, struct thread *thread, uint64_t target,
                                       uint64_t sp);

/* A stack that waits was copied to above sp, and control goes on there by a jump into a function: it is
 * the running one. False: none was. */
bool stack_resume_moved(struct core *core, struct thread *thread, uint64_t sp);

/* Are the calls before `newest` still where they were? */
bool stack_lies_there(const struct core *core, const struct stack *stack,
                      const struct stack_entry *newest);

/* Stacks that do not run, and are where `stack` is from `lowest` on, are not there any more. */
void stack_displace_others(struct core *core, const struct stack *stack, uint64_t lowest);

/* The part of another thread's stack that goes on on this thread; NULL for none. */
struct stack *stack_take_over(struct core *core, const struct thread *thread, uint64_t target,
                              uint64_t sp);

/* ---- stack_rebuilt.c ---- */

/* False: frame pointers do not say what the stack is. Else it is the running one, and goes on at
 * `target`. */
bool stack_rebuild(struct core *core, struct thread *thread, uint64_t target, uint64_t sp);

/* ---- stack_swapped.c ---- */

/* The return from a function that core_swap() was told of. False if it was none, or if nothing that
 * was saved explains it. */
bool stack_return_from_swapper(struct core *core, struct thread *thread, uint64_t target,
                               uint64_t sp);

/* Where in the code the function is that swaps stacks: an offset, UINT64_MAX for none. */
uint64_t stack_find_swapper(const uint8_t *code, size_t size_bytes);

/* Of a stack whose memory has a new life. */
void stack_forget_swapped(struct stack *stack);
/* In the child of a fork. */
void stack_inherit_swapped(struct stack *stack);

#endif
