#include "engines/riscv/profiling.h"

#include "common/memory.h"
#include "core/platform.h"
#include "engines/riscv/image.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- blocks ---- */

uint64_t profiling_function_end(struct riscv_machine *machine, uint64_t address)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler)
        return UINT64_MAX;
    struct code_place place = code_map_find(&profiler->core.code, address);
    if (!place.module || !place.module->range_count)
        return UINT64_MAX;
    /* A function may have several ranges, and others may lie inside it: the range counts. */
    uint64_t inside = address - place.module->bias;
    size_t low = 0, high = place.module->range_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (place.module->ranges[middle].start <= inside)
            low = middle + 1;
        else
            high = middle;
    }
    return low && inside < place.module->ranges[low - 1].end
               ? place.module->ranges[low - 1].end + place.module->bias
               : UINT64_MAX;
}

bool profiling_is_plt(const struct riscv_machine *machine, uint64_t address)
{
    return machine->profiler && code_map_find(&machine->profiler->core.code, address).plt;
}

void profiling_describe_block(struct riscv_machine *machine, struct block *block,
                              const struct translation *translation)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler)
        return;
    struct core *core = &profiler->core;
    struct code_place place = code_map_find(&core->code, block->address);
    block->function = place.function;
    if (profiler->line_detail && block->instructions != BLOCK_SPECIAL)
        block->number = core_block(core, block->address, place.module, block->instructions,
                                   translation->lengths);
    if (translation->calls)
        block->site =
            tree_site(&core->tree, block->end - translation->lengths[translation->instructions - 1],
                      place.module);
}

/* ---- counts ---- */

static void count_block(struct profiler *profiler, const struct context *context, uint32_t number,
                        int64_t times)
{
    uint64_t key = context->key + number;
    struct counts *counts = &profiler->core.counts;
    struct count *entry = &counts->cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];

    if (entry->key != key)
        entry = counts_miss(counts, key);
    entry->count += (uint64_t)times;
}

void profiling_cut_block(struct riscv_machine *machine, struct block *block, unsigned executed)
{
    struct profiler *profiler = machine->profiler;
    uint8_t lengths[BLOCK_MAX_INSTRUCTIONS];
    uint64_t address = block->address;

    if (!profiler || !profiler->line_detail || executed == block->instructions)
        return;
    for (unsigned i = 0; i < executed; i++) {
        uint16_t first;
        memory_read(&machine->memory, address, &first, sizeof first);
        lengths[i] = (uint8_t)riscv_length(first);
        address += lengths[i];
    }
    struct code_place place = code_map_find(&profiler->core.code, block->address);
    uint32_t cut = core_block(&profiler->core, block->address, place.module, executed, lengths);
    count_block(profiler, profiler->hot.current, block->number, -1);
    count_block(profiler, profiler->hot.current, cut, 1);
}

void profiling_adjust_slice(struct riscv_machine *machine, int64_t by)
{
    if (machine->profiler)
        machine->profiler->settled += by;
}

/* Instructions count by themselves at line detail. */
static void settle(struct riscv_machine *machine)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler->line_detail)
        profiling_settle(machine, profiler);
}

/* ---- jumps ---- */

/* A label lies on the frame it was set in: it is not a frame that can be jumped out of. */
static bool is_label(const struct context *context)
{
    return context->function->flags & CODE_FUNCTION_MARKER && context->code != context->function;
}

static void leave_label(struct profiler *profiler)
{
    if (is_label(profiler->hot.current))
        profiler->hot.current = profiler->hot.current->parent;
}

void profiling_mismatch(struct riscv_machine *machine, struct block *next)
{
    struct profiler *profiler = machine->profiler;

    if (next->address == profiler->trampoline && profiler->trampoline)
        return; /* the way out of a signal handler: its last two instructions, as it were */
    settle(machine);
    leave_label(profiler);
    core_mismatch(&profiler->core, profiler->thread, next->address, machine->x[REGISTER_SP]);
}

/* A jump to where the newest call would return, though the stack pointer is not what it was:
 * functions that make or undo a frame for their caller (millicode, outlined prologues). Unless an
 * older call would return there with just this stack pointer: then it is that one. */
static bool returns_with_other_frame(const struct riscv_machine *machine,
                                     const struct profiler *profiler, uint64_t target)
{
    uint64_t sp = machine->x[REGISTER_SP] + CALLER_SIDE;
    const struct stack_entry *newest = profiler->hot.top - 1;

    if (newest->return_address != target)
        return false;
    for (const struct stack_entry *entry = newest;
         entry > profiler->thread->stack->base && entry->stack_pointer <= sp; entry--)
        if (entry->return_address == target && entry->stack_pointer == sp)
            return false;
    return true;
}

/* Has control left the frame of the newest call for the one that made it, or for one further up,
 * in that frame's own function? Landing pads and longjmp do; a jump into the middle of another
 * function from a leaf, which has its caller's stack pointer, does not. */
static bool lands_in_caller(const struct riscv_machine *machine, const struct profiler *profiler,
                            const struct block *next)
{
    uint64_t sp = machine->x[REGISTER_SP] + CALLER_SIDE;
    const struct stack_entry *newest = profiler->hot.top - 1;

    if (newest->stack_pointer != sp)
        return true;
    const struct stack_entry *entry = newest;
    while (entry - 1 > profiler->thread->stack->base && entry[-1].stack_pointer <= sp)
        entry--;
    return entry->context->code == next->function;
}

void profiling_jump(struct riscv_machine *machine, struct block *next)
{
    struct profiler *profiler = machine->profiler;
    struct core *core = &profiler->core;
    struct hot *hot = &profiler->hot;
    uint64_t target = next->address, sp = machine->x[REGISTER_SP];
    uint64_t depth = hot->top[-1].stack_pointer - CALLER_SIDE - sp;

    if (returns_with_other_frame(machine, profiler, target)) {
        settle(machine);
        hot->top--;
        hot->current = hot->top->context;
    } else if (depth <= hot->reach && next->function == hot->current->code) {
        return;
    } else if (next->address == profiler->trampoline && profiler->trampoline) {
        return;
    } else if (code_map_is_entry(&core->code, target) ||
               !lands_in_caller(machine, profiler, next)) {
        settle(machine);
        if (depth > hot->reach)
            core_jump(core, profiler->thread, target, sp);
    } else {
        settle(machine);
        core_return(core, profiler->thread, target, sp + CALLER_SIDE);
    }
    if (next->function != hot->current->code)
        profiling_mismatch(machine, next);
}

void profiling_swap(struct riscv_machine *machine, struct block *next)
{
    struct hot *hot = &machine->profiler->hot;

    hot->top--;
    hot->current = hot->top->context;
    if (next->function != hot->current->code)
        profiling_mismatch(machine, next);
}

/* ---- frames without code ---- */

void profiling_marker(struct riscv_machine *machine, int32_t number)
{
    struct profiler *profiler = machine->profiler;
    char name[32];

    settle(machine);
    leave_label(profiler);
    snprintf(name, sizeof name, "label:%d", number);
    struct context *frame = profiler->hot.current;
    struct context *label = core_marker(&profiler->core, profiler->thread, 0, name);
    label->code = frame->code;
    profiler->hot.current = label;
}

void profiling_environment_call(struct riscv_machine *machine, uint64_t address)
{
    struct profiler *profiler = machine->profiler;
    char name[64];

    if (!profiler)
        return;
    struct core *core = &profiler->core;
    const char *known = machine->environment->call_name(machine);
    if (known)
        snprintf(name, sizeof name, "ecall:%s", known);
    else
        snprintf(name, sizeof name, "ecall:%lld", (long long)machine->x[REGISTER_A7]);
    /* The call itself was charged: it is the marker's, not the current frame's. */
    machine->slice++;
    settle(machine);
    machine->slice--;
    struct code_module *module = code_map_find(&core->code, address).module;
    uint32_t site = tree_site(&core->tree, address, module);
    struct context *marker = core_marker(core, profiler->thread, site, name);
    if (profiler->line_detail) {
        /* A block of the markers' own: nothing is inlined into a frame without code. */
        const uint8_t length = 4;
        count_block(profiler, marker, core_block(core, 0, core->code.markers, 1, &length), 1);
    } else {
        marker->self_instructions++;
        profiler->settled = machine->slice;
    }
}

void profiling_signal_in(struct riscv_machine *machine, unsigned number, bool alternate)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler)
        return;
    settle(machine);
    core_signal_in(&profiler->core, profiler->thread, number, machine->x[REGISTER_SP], alternate);
}

void profiling_signal_out(struct riscv_machine *machine)
{
    if (!machine->profiler)
        return;
    struct core *core = &machine->profiler->core;
    settle(machine);
    core_signal_out(core, machine->profiler->thread, 0, 0);
    /* Who makes a call keeps what ra was in a word that is popped with the return. */
    core_called_by_handler(core, machine->profiler->thread, machine->pc, machine->x[REGISTER_RA],
                           machine->x[REGISTER_SP] + 8 + CALLER_SIDE);
}

/* ---- threads and processes ---- */

struct thread *profiling_thread_new(struct riscv_machine *machine, uint64_t sp)
{
    return machine->profiler ? core_thread_new(&machine->profiler->core, sp) : NULL;
}

/* The running thread's part of the core is in the profiler, where dispatch finds it. */
void profiling_thread_switch(struct riscv_machine *machine, struct thread *thread)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler || profiler->thread == thread)
        return;
    settle(machine);
    profiler->thread->own = profiler->hot;
    profiler->thread->hot = &profiler->thread->own;
    profiler->thread = thread;
    profiler->hot = thread->own;
    thread->hot = &profiler->hot;
    core_resume(&profiler->core, thread);
}

void profiling_thread_end(struct riscv_machine *machine, struct thread *thread)
{
    if (!machine->profiler)
        return;
    settle(machine);
    core_thread_end(&machine->profiler->core, thread);
}

void profiling_before_fork(struct riscv_machine *machine)
{
    if (machine->profiler)
        settle(machine);
}

void profiling_forked(struct riscv_machine *machine)
{
    struct profiler *profiler = machine->profiler;

    if (!profiler)
        return;
    if (machine->options.follows_children) {
        core_forked(&profiler->core, profiler->thread);
        return;
    }
    profiling_end(machine);
    machine_choose_dispatch(machine, dispatch_plain);
}

/* ---- what the core asks of its engine ---- */

bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
    struct riscv_machine *machine = machine_running();

    return machine && memory_find_mapping(&machine->memory, address, start, end);
}

bool platform_read(uint64_t address, void *buffer, size_t size_bytes)
{
    struct riscv_machine *machine = machine_running();

    return machine && memory_read(&machine->memory, address, buffer, size_bytes);
}

/* Guests make no code that has names. */
void platform_code_renamed(uint64_t start, uint64_t end)
{
    (void)start;
    (void)end;
}

/* Nobody looks at the jumps of guests, which have their symbols. */
bool platform_is_part(struct platform_stretch whole, struct platform_stretch part,
                      bool in_mid_frame)
{
    (void)whole, (void)part, (void)in_mid_frame;
    return false;
}

void platform_function_found(uint64_t start, uint64_t end)
{
    struct riscv_machine *machine = machine_running();

    (void)start, (void)end;
    if (machine)
        machine_interrupt(machine);
}
