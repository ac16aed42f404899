/*
 * walk.c: reads the call path out of a stopped program, by frame pointers.
 *
 * Where the return address of the running function is, and the frame of its caller, depends on
 * how far the function has got with its own frame. The instruction's bytes tell:
 *
 *   before `push %rbp`                      0(%rsp)   %rbp
 *   before `mov %rsp,%rbp`                  8(%rsp)   0(%rsp)
 *   in the body                             8(%rbp)   0(%rbp)
 *   at `ret`, or at a jump after `leave`
 *   or `pop %rbp`                           0(%rsp)   %rbp
 *   in a function that makes no frame       0(%rsp)   %rbp
 *
 * A function that makes no frame must keep nothing on its stack across a call.
 * The path ends in `_start`, or where the return address or the frame pointer is zero. A return
 * address that is `__restore_rt` means that the kernel made the frame: above it lies the ucontext
 * of what was interrupted, and the walk goes on there, in the middle of whatever it was doing.
 */
#include "oracle.h"
#include <string.h>
#include <sys/uio.h>

/* Offsets into struct ucontext as the kernel lays it out. */
enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

size_t memory_read(pid_t pid, uint64_t address, void *into, size_t count)
{
    struct iovec local = {into, count}, remote = {(void *)(uintptr_t)address, count};
    ssize_t done = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    return done < 0 ? 0 : (size_t)done;
}

static uint64_t word_at(const struct walk *walk, uint64_t address)
{
    uint64_t word;
    if (memory_read(walk->pid, address, &word, sizeof word) != sizeof word)
        die("the frame chain leads to %#lx, which cannot be read", (unsigned long)address);
    return word;
}

enum frame_state { FRAME_NOT_MADE, FRAME_PUSHED, FRAME_MADE };

/* At the instruction itself: `code[0]` is the byte before it. */
static enum frame_state state_by_bytes(const uint8_t *code, size_t count)
{
    bool after_pop = code[0] == 0x5d || code[0] == 0xc9;
    const uint8_t *instruction = code + 1;
    enum flow flow = decode_flow(instruction, count - 1);
    if (count >= 5 && memcmp(instruction, "\x55\x48\x89\xe5", 4) == 0)
        return FRAME_NOT_MADE;
    if (count >= 4 && code[0] == 0x55 && memcmp(instruction, "\x48\x89\xe5", 3) == 0)
        return FRAME_PUSHED;
    if (flow == FLOW_RETURN)
        return FRAME_NOT_MADE;
    if (after_pop && (flow == FLOW_JUMP || flow == FLOW_JUMP_INDIRECT))
        return FRAME_NOT_MADE;
    return FRAME_MADE;
}

static enum frame_state state_at(const struct walk *walk, int symbol, uint64_t rip)
{
    uint8_t code[1 + INSTRUCTION_BYTES] = {0};
    size_t count = memory_read(walk->pid, rip - 1, code, sizeof code);
    if (count < 2) /* the first byte of a mapping */
        count = 1 + memory_read(walk->pid, rip, code + 1, INSTRUCTION_BYTES);
    if (symbol != NO_SYMBOL) {
        const struct symbol *named = &walk->image->symbols[symbol];
        bool cold = named->function != symbol;
        if (!cold && (!named->has_frame || rip <= named->push_address))
            return FRAME_NOT_MADE;
    }
    return state_by_bytes(code, count);
}

/* Of a caller: its call is behind it, so its frame, if it makes one, is made. */
static enum frame_state state_of_caller(const struct walk *walk, int symbol)
{
    if (symbol == NO_SYMBOL)
        return FRAME_MADE;
    const struct symbol *named = &walk->image->symbols[symbol];
    return named->has_frame || named->function != symbol ? FRAME_MADE : FRAME_NOT_MADE;
}

static bool symbol_is(const struct walk *walk, int symbol, const char *name)
{
    return symbol != NO_SYMBOL && strcmp(walk->image->symbols[symbol].name, name) == 0;
}

static void add_frame(struct walk *walk, int frame)
{
    if (walk->count == WALK_MAX)
        die("the stack is deeper than %d frames", WALK_MAX);
    walk->frames[walk->count++] = frame;
}

static struct registers enter_interrupted(struct walk *walk, uint64_t ucontext)
{
    add_frame(walk, FRAME_SIGNAL_BASE - walk->signal_at(walk->data, ucontext));
    return (struct registers){
        .rip = word_at(walk, ucontext + UCONTEXT_RIP),
        .rsp = word_at(walk, ucontext + UCONTEXT_RSP),
        .rbp = word_at(walk, ucontext + UCONTEXT_RBP),
    };
}

void walk_stack(struct walk *walk, struct registers registers)
{
    bool exact = true; /* rip is an instruction that runs next, not a return address */
    walk->count = 0;
    for (;;) {
        int symbol = image_symbol_at(walk->image, registers.rip - (exact ? 0 : 1));
        add_frame(walk, symbol == NO_SYMBOL ? FRAME_ANON : walk->image->symbols[symbol].function);
        if (symbol_is(walk, symbol, "_start"))
            return;
        if (exact && symbol_is(walk, symbol, "__restore_rt")) {
            registers = enter_interrupted(walk, registers.rsp);
            continue;
        }
        enum frame_state state =
            exact ? state_at(walk, symbol, registers.rip) : state_of_caller(walk, symbol);
        if (state == FRAME_MADE && registers.rbp == 0)
            return;
        uint64_t return_slot = state == FRAME_NOT_MADE ? registers.rsp
                               : state == FRAME_PUSHED ? registers.rsp + 8
                                                       : registers.rbp + 8;
        uint64_t caller_rbp =
            state == FRAME_NOT_MADE ? registers.rbp : word_at(walk, return_slot - 8);
        uint64_t return_address = word_at(walk, return_slot);
        if (return_address == 0)
            return;
        exact = symbol_is(walk, image_symbol_at(walk->image, return_address), "__restore_rt");
        if (exact)
            registers = enter_interrupted(walk, return_slot + 8);
        else
            registers = (struct registers){return_address, return_slot + 8, caller_rbp};
    }
}
