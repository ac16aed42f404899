/*
 * stack_rebuilt.c: a stack whose calls were not seen to end up where they are.
 *
 * Go's collector moves the stacks of goroutines that wait, and takes the memory they had for others.
 * Where such a goroutine goes on, several that wait at the same place may fit, or none. But Go keeps
 * frame pointers, as many programs do, and then the stack says itself who has called whom:
 *
 *      |  return address  |
 *      |  0               |<─┐    the first function
 *      |  ...             |  │
 *      |  return address  |  │
 *      |  frame pointer   |──┘    the one that it has called
 *      |  ...             | <- sp, in the frame of the function that goes on
 *
 * The chain has to be whole: each link leads up, to a word below a return address, a call of the
 * function that was called is before that, as far as it can be seen, and the last link is the end.
 * Frames have words of older ones in them that look much like it.
 */
#include "core/stack.h"
#include "core/platform.h"

#define FRAME_MOST_BYTES (1u << 20)
#define FRAMES_MOST      (1u << 20)

struct link {
    uint64_t frame_pointer, return_address;
};

/* True: there is a link at `at`; one that has the frame pointer 0 is the last. */
static bool read_link(struct core *core, uint64_t at, struct link *link)
{
    if (!platform_read(at, link, sizeof *link))
        return false;
    if (link->frame_pointer && (link->frame_pointer <= at || link->frame_pointer & 7 ||
                                link->frame_pointer - at > FRAME_MOST_BYTES))
        return false;
    if (!link->frame_pointer && !link->return_address)
        return true;
    return code_map_find(&core->code, link->return_address).function;
}

/* The function that a return address leads back to; the call may be its last instruction. */
static struct code_function *function_at(struct core *core, uint64_t return_address)
{
    return code_map_find(&core->code, return_address - 1).function;
}

/* Is there a call before the address, and is it one of the function, as far as it says? */
static bool follows_call_of(struct core *core, uint64_t return_address,
                            const struct code_function *function)
{
    uint8_t opcode;
    int32_t distance;
    unsigned length = stack_call_length(return_address);

    if (!length || !platform_read(return_address - length, &opcode, sizeof opcode))
        return false;
    if (opcode != 0xe8)
        return true;
    return platform_read(return_address - sizeof distance, &distance, sizeof distance) &&
           code_map_find(&core->code, return_address + distance).function == function;
}

/* How many links there are from `at` to the end, which is in the same memory; 0: it is no chain. The
 * last one alone says too little. */
static size_t chain_length(struct core *core, uint64_t at, uint64_t memory_end,
                           const struct code_function *newest)
{
    const struct code_function *function = newest;
    struct link link;

    for (size_t count = 1; count < FRAMES_MOST && at < memory_end; count++) {
        if (!read_link(core, at, &link))
            return 0;
        if (!link.frame_pointer)
            return count > 1 ? count : 0;
        if (!follows_call_of(core, link.return_address, function))
            return 0;
        function = function_at(core, link.return_address);
        at = link.frame_pointer;
    }
    return 0;
}

/* The first link above sp that a chain begins with, 0 if none does. */
static uint64_t first_link(struct core *core, uint64_t sp, const struct code_function *newest,
                           size_t *count)
{
    uint64_t start, end;

    if (!platform_find_mapping(sp, &start, &end))
        return 0;
    for (uint64_t at = sp; at < sp + STACK_FIRST_REACH && at + sizeof(struct link) <= end; at += 8)
        if ((*count = chain_length(core, at, end, newest)))
            return at;
    return 0;
}

/* The length of an instruction that loads a register from near the stack pointer, 0 if it is another. */
static unsigned load_length(const uint8_t *code)
{
    const uint8_t *at = code;

    while (*at == 0x66 || *at == 0xf2 || *at == 0xf3)
        at++;
    if ((*at & 0xf0) == 0x40)
        at++;
    bool two_bytes = *at == 0x0f;
    at += two_bytes;
    bool loads = two_bytes ? *at == 0xb6 || *at == 0xb7 || *at == 0x10 || *at == 0x28
                           : *at == 0x8a || *at == 0x8b;
    unsigned mod = at[1] >> 6;
    if (!loads || (at[1] & 7) != 4 || at[2] != 0x24 || mod == 3)
        return 0;
    return at + 3 + (mod == 1 ? 1 : mod == 2 ? 4 : 0) - code;
}

/* Does the function begin again at `target`? Go's do when they have got a larger stack, with the
 * arguments that they had put aside. They have no frame then. */
static bool begins_again(const struct code_function *function, uint64_t target)
{
    enum { ARGUMENTS_MOST = 32 };
    uint64_t start = function->start + function->module->bias;
    uint8_t code[16];

    for (unsigned i = 0; i < ARGUMENTS_MOST; i++) {
        if (!platform_read(target, code, sizeof code))
            return false;
        unsigned length = load_length(code);
        if (!length)
            break;
        target += length;
    }
    if (code[0] == 0xeb)
        return target + 2 + (int8_t)code[1] == start;
    uint32_t distance = (uint32_t)code[1] | (uint32_t)code[2] << 8 | (uint32_t)code[3] << 16 |
                        (uint32_t)code[4] << 24;
    return code[0] == 0xe9 && target + 5 + (int32_t)distance == start;
}

/* Entries, newest first, of the links from `at` on; returns where the last link is. */
static uint64_t read_entries(struct core *core, uint64_t at, struct stack_entry *entries)
{
    struct link link;

    for (; read_link(core, at, &link); at = link.frame_pointer) {
        *entries++ = (struct stack_entry){.return_address = link.return_address,
                                          .stack_pointer = at + sizeof link,
                                          .code = core->no_landing};
        if (!link.frame_pointer)
            break;
    }
    return at;
}

static struct context *called(struct core *core, struct context *caller, uint64_t return_address,
                              struct code_function *function)
{
    uint64_t call = return_address - stack_call_length(return_address);
    struct code_module *module = code_map_find(&core->code, call).module;

    return tree_child_of(&core->tree, caller, tree_site(&core->tree, call, module), function);
}

bool stack_rebuild(struct core *core, struct thread *thread, uint64_t target, uint64_t sp)
{
    struct code_function *newest = code_map_find(&core->code, target).function;
    struct code_function *framed = newest; /* the newest that has a frame */
    uint64_t back, first;
    size_t count;

    if (!core->options.calls_push || !newest || !platform_read(sp, &back, sizeof back))
        return false;
    bool again = begins_again(newest, target) && follows_call_of(core, back, newest);
    if (again)
        framed = function_at(core, back);
    first = first_link(core, sp, framed, &count);
    if (!first)
        return false;
    struct stack_entry *entries = platform_allocate(count * sizeof *entries);
    uint64_t last = read_entries(core, first, entries);
    struct stack *stack = stack_at(core, thread, last + 8);
    struct stack_entry bottom = stack->base[0];
    stack_reserve(stack, count + 2);
    stack->base[0] = bottom;
    /* Nobody returns by the last link: the first function was not called. */
    struct context *context = tree_child_of(&core->tree, bottom.context, 0,
                                            function_at(core, entries[count - 2].return_address));
    for (size_t i = count - 1; i-- > 0;) {
        struct stack_entry *entry = &stack->base[count - 1 - i];
        *entry = entries[i];
        entry->context = context;
        context = called(core, context, entry->return_address,
                         i ? function_at(core, entries[i - 1].return_address) : framed);
    }
    stack->saved.top = stack->base + count;
    if (again) {
        *stack->saved.top++ = (struct stack_entry){.return_address = back,
                                                   .stack_pointer = sp + 8,
                                                   .context = context,
                                                   .code = core->no_landing};
        context = called(core, context, back, newest);
    }
    stack->saved.current = context;
    platform_release(entries, count * sizeof *entries);
    core->stacks_move = true;
    stack_displace_others(core, stack, sp);
    stack_switch_to(core, thread, stack);
    return true;
}
