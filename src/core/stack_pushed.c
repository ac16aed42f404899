/*
 * stack_pushed.c: what the return addresses on the program's own stack say, where calls push them:
 * programs move them, overwrite them, and push some of their own.
 *
 * Calls that are made of a push and a jump:
 *
 *      push  where to go on        V8 does this when a function goes on in the interpreter, after
 *      jmp   function              an exception was caught or compiled code was given up: its frame
 *                                  is there, but no call instruction has been executed in it
 *
 * The function is called by the one that the pushed address lies in, and will return there. What
 * tells it from a tail call is that the stack pointer is not where the frame ends: there lies the
 * return address that was pushed before. Compilers jump to functions from nowhere else, so what
 * stands at the stack pointer is looked at only where such a jump was written by hand. It need not
 * be a return address even then. It is one if it follows a call instruction, or leads into the
 * function that jumps, or was one before: an interpreter has few, and between it and the function that is
 * called there may be another jump.
 */
#include "core/stack.h"
#include "core/platform.h"

/* The length of the x86 call that the bytes end with, 0 if they do not. The shapes: e8 and four bytes;
 * ff with /2 in its second byte, which says by mod and rm how many follow. */
static unsigned call_at_end(const uint8_t bytes[7])
{
    const uint8_t *end = bytes + 7;

    if (end[-5] == 0xe8)
        return 5;
    for (unsigned length = 2; length <= 7; length++) {
        const uint8_t *at = end - length;
        unsigned mod = at[1] >> 6, rm = at[1] & 7;
        if (at[0] != 0xff || (at[1] >> 3 & 7) != 2)
            continue;
        unsigned follow = mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0;
        if (mod != 3 && rm == 4)
            follow++; /* a SIB byte, and where that has no base, an address */
        if (length == 2 + follow || (!mod && rm == 4 && length == 7 && (at[2] & 7) == 5))
            return length;
    }
    return 0;
}

unsigned stack_call_length(uint64_t return_address)
{
    uint8_t bytes[7];

    if (!platform_read(return_address - sizeof bytes, bytes, sizeof bytes))
        return 0;
    return call_at_end(bytes);
}

bool stack_has_on_top(const struct core *core, uint64_t sp, uint64_t return_address)
{
    uint64_t word;

    return core->options.calls_push && platform_read(sp, &word, sizeof word) &&
           word == return_address;
}

bool stack_will_return(const struct core *core, const struct stack_entry *entry, uint64_t lowest)
{
    enum { MOST_BYTES = 4096 };
    uint64_t word;

    if (!core->options.calls_push || entry->return_address & STACK_SIGNAL_MARK ||
        entry->stack_pointer - lowest > MOST_BYTES)
        return true;
    for (uint64_t at = lowest; at < entry->stack_pointer; at += sizeof word)
        if (!platform_read(at, &word, sizeof word) || word == entry->return_address)
            return true;
    return false;
}

bool stack_find_moved_return(const struct core *core, const struct stack_entry *call, uint64_t sp,
                             uint64_t *place)
{
    enum { MOST_BYTES = 4096 };
    uint64_t word, end = call[-1].stack_pointer - sizeof word; /* there is its caller's own */

    if (!core->options.calls_push || call->return_address & STACK_SIGNAL_MARK)
        return false;
    if (end > sp + MOST_BYTES)
        end = sp + MOST_BYTES;
    for (*place = sp; *place < end; *place += sizeof word)
        if (platform_read(*place, &word, sizeof word) && word == call->return_address)
            return true;
    return false;
}

static uint64_t *pushed_place(struct core *core, uint64_t address)
{
    const size_t count = sizeof core->pushed_places / sizeof *core->pushed_places;

    return &core->pushed_places[(address * 0x9e3779b97f4a7c15u >> 32) % count];
}

struct code_function *stack_pushed_caller(struct core *core, const struct thread *thread,
                                          uint64_t target, uint64_t sp, uint64_t *back)
{
    const struct stack_entry *newest = thread->hot->top - 1;

    if (!core->options.calls_push || sp + 8 >= newest->stack_pointer ||
        !code_map_is_entry(&core->code, target) || !platform_read(sp, back, sizeof *back) ||
        code_map_is_entry(&core->code, *back))
        return NULL;
    struct code_function *caller = code_map_find(&core->code, *back).function;
    if (!caller)
        return NULL;
    uint64_t *pushed = pushed_place(core, *back);
    if (caller != thread->hot->current->code && *pushed != *back && !stack_call_length(*back))
        return NULL;
    if (*back != newest->return_address) {
        if (caller == thread->hot->current->code)
            *pushed = *back;
        return caller;
    }
    /* The return address of the frame itself was moved down. But not where a function that calls itself
     * from there goes on after it caught something, or jumps itself and has its own where it was. */
    bool caught = thread->landed == caller && thread->landed_top == thread->hot->top;
    bool repeats = thread->hot->current->code == caller && sp + 16 < newest->stack_pointer &&
                   stack_has_on_top(core, newest->stack_pointer - 8, *back);
    return caught || repeats ? caller : NULL;
}
