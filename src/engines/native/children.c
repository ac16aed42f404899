/* children.c: see children.h. */
#include "engines/native/children.h"
#include "engines/native/assemble.h"
#include "engines/native/callees.h"
#include "engines/native/fast.h"
#include "engines/native/record.h"

/* A process that is soon over had better not touch a page for each of its contexts: most of what it
 * costs then is the kernel's. So a thread begins with a part of its table, and uses four times as much
 * whenever it has filled a quarter. */
#define FIRST_SLOTS 4096
#define MORE        4

/* Over the whole table: contexts are numbered one after the other, and where they are near each other
 * they are in each other's way. */
static uint32_t site_hash(uint32_t site)
{
    return site * 0x9e3779b1u & ~31u;
}

static void use_slots(struct native_thread *thread, uint32_t count)
{
    thread->child_mask = (count - 1) * sizeof(struct child_slot);
    thread->children_left = count < CHILD_SLOTS ? count / 4 : 0;
}

void children_init_thread(struct native_thread *thread)
{
    use_slots(thread, FIRST_SLOTS);
}

static struct child_slot *slot_at(const struct native_thread *thread, uint32_t hash)
{
    return (struct child_slot *)((uint8_t *)thread->children + (hash & thread->child_mask));
}

static uint32_t call_hash(uint32_t context_number, uint32_t site)
{
    return (context_number << 5) + site_hash(site);
}

static uint32_t target_hash(const struct context *context, uint64_t target)
{
    return (context_number(context) << 5) + 2 * (uint32_t)target;
}

/* Where the slot's hash puts it. */
static uint32_t slot_hash(const struct child_slot *slot)
{
    if (!slot->key)
        return target_hash(slot->context, slot->child->entry);
    uint32_t number = slot->key >> 32;
    return call_hash(number, slot->key - tree_key(number)) + 2 * (uint32_t)slot->target;
}

/* Each slot goes to where none has been yet, or stays. */
static void use_more_slots(struct native_thread *thread)
{
    uint32_t count = thread->child_mask / sizeof(struct child_slot) + 1;
    use_slots(thread, count * MORE);
    for (uint32_t i = 0; i < count; i++) {
        struct child_slot *slot = &thread->children[i];
        if (slot->child)
            *slot_at(thread, slot_hash(slot)) = *slot;
    }
}

static struct child_slot *slot_to_fill(struct native_thread *thread, uint32_t hash)
{
    if (thread->children_left && !--thread->children_left)
        use_more_slots(thread);
    return slot_at(thread, hash);
}

/* ---- beside the context ---- */

#define CALL_CHILDREN (CONTEXT_CHILDREN - 1) /* the last is for transitions */

static unsigned child_index(struct code_function *function, uint32_t number, uint64_t target)
{
    if (number & TRANSITION)
        return CALL_CHILDREN;
    return function ? callee_number(function, target) % CALL_CHILDREN : 0;
}

static uint8_t child_place(const struct step *step)
{
    unsigned index = child_index(step->function, step->number, step->target);
    return offsetof(struct context, children) + index * sizeof(uint32_t);
}

static uint8_t slot_place(uint32_t number)
{
    return offsetof(struct context, slots) + number % CONTEXT_SLOTS * sizeof(struct context_slot);
}

static void put_in_slot(struct context *context, uint32_t number, struct context *child)
{
    context->slots[number % CONTEXT_SLOTS] =
        (struct context_slot){(uint64_t)(int32_t)number, child}; /* as it is compared */
}

void fast_put_beside(struct context *context, uint32_t number, uint64_t target,
                     struct context *child)
{
    if (options.line_detail)
        put_in_slot(context, number, child);
    else if (child->entry == target && fits_in_32((uintptr_t)child))
        context->children[child_index(context->code, number, target)] = (uintptr_t)child;
}

/* ---- in the thread ---- */

struct child_slot *fast_call_slot(struct native_thread *thread, const struct context *context,
                                  uint32_t site)
{
    return slot_to_fill(thread, call_hash(context_number(context), site));
}

struct child_slot *fast_indirect_slot(struct native_thread *thread, const struct context *context,
                                      uint32_t site, uint64_t target)
{
    return slot_to_fill(thread, call_hash(context_number(context), site) + 2 * (uint32_t)target);
}

/* Of a call of which both are known: is its child found by the target alone? */
static bool is_by_target(uint32_t number, uint64_t target)
{
    return !options.line_detail && !(number & TRANSITION) && fits_in_32(target);
}

struct child_slot *fast_called_slot(struct native_thread *thread, const struct context *context,
                                    uint64_t target)
{
    return slot_to_fill(thread, target_hash(context, target));
}

void fast_remember_call(struct native_thread *thread, struct context *context, uint32_t site,
                        uint64_t target, struct context *child)
{
    if (is_by_target(site, target))
        *fast_called_slot(thread, context, target) =
            (struct child_slot){.child = child, .context = context};
    else
        *fast_call_slot(thread, context, site) =
            (struct child_slot){.key = context->key + site, .child = child};
    fast_put_beside(context, site, target, child);
}

/* ---- what is emitted ---- */

void emit_child_slot(struct emitter *e, unsigned context, uint32_t site)
{
    load_context_number(e, context);
    emit_bytes(e, "\xc1\xe0\x05", 3); /* shl eax, 5 */
    op_constant32(e, 0, RAX, site_hash(site));
}

void emit_child_address(struct emitter *e)
{
    op_thread(e, OP_AND, RAX, FIELD(child_mask));
    op_thread(e, OP_ADD, RAX, FIELD(children));
}

/* From gs on. */
#define LAST(site, member)                                                                         \
    (uint32_t)(THREAD_SITES + (site) * sizeof(struct site_slot) +                                  \
               offsetof(struct site_slot, member))

/* child = what the site did last, if that was of the context; else the jump is to be ended. NULL: the
 * site has no such memory. */
static uint8_t *emit_load_last(struct emitter *e, unsigned child, unsigned context, uint32_t site)
{
    if (site >= SITE_SLOTS)
        return NULL;
    op_thread(e, OP_COMPARE, context, LAST(site, context));
    emit_bytes(e, "\x75\x00", 2); /* jne */
    uint8_t *elsewhere = e->out;
    emit_load(e, child, LAST(site, child));
    return elsewhere;
}

static void emit_remember_last(struct emitter *e, unsigned context, unsigned child, uint32_t site)
{
    if (site >= SITE_SLOTS)
        return;
    emit_store(e, LAST(site, context), context);
    emit_store(e, LAST(site, child), child);
}

/* cmp qword [context + entry], target */
static void emit_compare_entry(struct emitter *e, unsigned context, uint64_t target)
{
    emit_bytes(e, "\x48\x81", 2);
    emit_byte(e, 0x78 | context);
    emit_byte(e, CONTEXT(entry));
    emit_u32(e, target);
}

/* cmp dword [rax + n], half */
static void emit_compare_half(struct emitter *e, unsigned offset, uint32_t half)
{
    emit_bytes(e, "\x81\x78", 2);
    emit_byte(e, offset);
    emit_u32(e, half);
}

void emit_entry_check(struct emitter *e, uint64_t target, uint64_t miss)
{
    if (fits_in_32(target)) {
        emit_compare_entry(e, RAX, target);
    } else {
        emit_compare_half(e, CONTEXT(entry), target);
        jump_if(e, IF_NOT_EQUAL, miss);
        emit_compare_half(e, CONTEXT(entry) + 4, target >> 32);
    }
    jump_if(e, IF_NOT_EQUAL, miss);
}

/* rax, a child whose entry is known, is beside the context in rcx from now on, if it is one that four
 * bytes can name. */
static void emit_put_low(struct emitter *e, const struct step *step)
{
    _Static_assert((ARENA_START >> 40 & 1) && ((ARENA_END - 1) >> 40 & 1), "says who is not low");
    emit_bytes(e, "\x48\x0f\xba\xe0\x28\x72\x03\x89\x41",
               9); /* bt rax, 40; jc; mov [rcx + n], eax */
    emit_byte(e, child_place(step));
}

/* rax, the child of the context in rcx, is beside it from now on. */
static void emit_put_beside(struct emitter *e, const struct step *step)
{
    if (options.line_detail) {
        uint8_t place = slot_place(step->number);
        store_constant(e, RCX, place + offsetof(struct context_slot, site), step->number);
        op_memory(e, OP_STORE, RAX, RCX, place + offsetof(struct context_slot, child));
    } else if (fits_in_32(step->target)) {
        emit_compare_entry(e, RAX, step->target);
        emit_bytes(e, "\x75\x00", 2); /* jne */
        uint8_t *elsewhere = e->out;
        emit_put_low(e, step);
        end_short_jump(e, elsewhere);
    }
}

/* The child is not beside the context in rcx: it may be in the table, and is beside it then. On to
 * `back` with it in rax. */
static uint64_t cold_child_by_target(const struct step *step, uint64_t miss, uint64_t back)
{
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    uint8_t *elsewhere = emit_load_last(e, RAX, RCX, step->number);
    if (elsewhere) {
        emit_compare_entry(e, RAX, step->target);
        jump_if(e, IF_EQUAL, back);
        end_short_jump(e, elsewhere);
    }
    load_context_number(e, RCX);
    emit_bytes(e, "\xc1\xe0\x05", 3); /* shl eax, 5 */
    op_constant32(e, 0, RAX, 2 * (uint32_t)step->target);
    emit_child_address(e);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, context));
    jump_if(e, IF_NOT_EQUAL, miss);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    emit_entry_check(e, step->target, miss);
    emit_put_low(e, step);
    emit_remember_last(e, RCX, RAX, step->number);
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* The same for others: by the site. */
static uint64_t cold_child_in_table(const struct step *step, uint64_t miss, uint64_t back)
{
    struct emitter missed = cold_begin();
    uint64_t missed_at = missed.address;
    emit_unspill(&missed, RDX);
    emit_jump(&missed, miss);
    cold_end(&missed);

    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    emit_spill(e, RDX);
    emit_child_slot(e, RCX, step->number);
    emit_child_address(e);
    emit_constant(e, RDX, step->number);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, missed_at);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    if (step->varies)
        emit_entry_check(e, step->target, missed_at);
    emit_put_beside(e, step);
    emit_remember_last(e, RCX, RAX, step->number);
    emit_unspill(e, RDX);
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* It may be what the site did last, too. */
static uint64_t cold_child(const struct step *step, uint64_t miss, uint64_t back)
{
    if (is_by_target(step->number, step->target))
        return cold_child_by_target(step, miss, back);
    uint64_t in_table = cold_child_in_table(step, miss, back);
    if (step->number >= SITE_SLOTS)
        return in_table;
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    op_thread(e, OP_COMPARE, RCX, LAST(step->number, context));
    jump_if(e, IF_NOT_EQUAL, in_table);
    emit_load(e, RAX, LAST(step->number, child));
    if (step->varies)
        emit_entry_check(e, step->target, in_table);
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* cmp qword [context + slot's site], site, with its sign; the core may have an address there, which
 * no site is */
static void emit_compare_site(struct emitter *e, unsigned context, uint32_t site)
{
    emit_byte(e, 0x48);
    emit_byte(e, 0x81);
    emit_byte(e, 0x78 | context);
    emit_byte(e, slot_place(site) + offsetof(struct context_slot, site));
    emit_u32(e, site);
}

/* `child` = the one that is beside `context`; the jump to where it is looked for elsewhere ends at the
 * lookup's address. */
static struct child_lookup emit_look_beside(struct emitter *e, unsigned context, unsigned child,
                                            const struct step *step)
{
    struct child_lookup lookup;
    if (options.line_detail) {
        emit_compare_site(e, context, step->number);
        jump_if(e, IF_NOT_EQUAL, 0);
    } else if (fits_in_32(step->target)) {
        emit_byte(e, 0x8b); /* mov child, [context + n] */
        emit_byte(e, 0x40 | child << 3 | context);
        emit_byte(e, child_place(step));
        emit_compare_entry(e, child, step->target);
        jump_if(e, IF_NOT_EQUAL, 0);
    } else {
        emit_jump(e, 0);
    }
    lookup.branch_end = e->out;
    lookup.address = e->address;
    if (options.line_detail)
        op_memory(e, OP_LOAD, child, context,
                  slot_place(step->number) + offsetof(struct context_slot, child));
    lookup.back = e->address;
    return lookup;
}

static void end_lookup(const struct child_lookup *lookup, uint64_t at)
{
    uint32_t distance = at - lookup->address;
    memcpy(lookup->branch_end - 4, &distance, 4);
}

struct child_lookup emit_beside(struct emitter *e, const struct step *step)
{
    return emit_look_beside(e, RCX, RAX, step);
}

void finish_beside(const struct child_lookup *lookup, const struct step *step, uint64_t miss)
{
    end_lookup(lookup, cold_child(step, miss, lookup->back));
}

/* ---- the child of the current context, in rcx ---- */

struct child_lookup emit_child_in_place(struct emitter *e, const struct step *step)
{
    emit_load_current(e, RCX);
    return emit_look_beside(e, RCX, RCX, step);
}

/* It is not beside the context, and rcx has been used. */
void finish_in_place(const struct child_lookup *lookup, const struct step *step, bool rax_spilled,
                     uint64_t miss)
{
    unsigned borrowed = rax_spilled ? 0 : 1 << RAX;
    struct emitter missed = cold_begin();
    uint64_t missed_at = missed.address;
    restore(&missed, false, borrowed);
    emit_jump(&missed, miss);
    cold_end(&missed);

    struct emitter found = cold_begin();
    uint64_t found_at = found.address;
    op_register(&found, OP_LOAD, RCX, RAX);
    restore(&found, false, borrowed);
    emit_jump(&found, lookup->back);
    cold_end(&found);
    uint64_t look = cold_child(step, missed_at, found_at);

    struct emitter cold = cold_begin();
    end_lookup(lookup, cold.address);
    if (!rax_spilled)
        emit_spill(&cold, RAX);
    emit_load_current(&cold, RCX);
    emit_jump(&cold, look);
    cold_end(&cold);
}

_Static_assert(sizeof(struct context) <= 128, "slots are reached with eight-bit offsets");

/* The child of the context in rax for the target in rcx is not beside it: it may be in the table.
 * On to `back` with it in rdx. */
static uint64_t cold_indirect_child(uint32_t site, uint64_t miss, uint64_t back)
{
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    uint8_t *elsewhere = emit_load_last(e, RDX, RAX, site);
    if (elsewhere) {
        op_memory(e, OP_COMPARE, RCX, RDX, CONTEXT(entry));
        jump_if(e, IF_EQUAL, back);
        end_short_jump(e, elsewhere);
    }
    emit_store(e, FIELD(target), RCX);
    op_register(e, OP_LOAD, RDX, RAX);
    emit_child_slot(e, RDX, site);
    emit_bytes(e, "\x8d\x04\x48", 3); /* lea eax, [rax + rcx * 2] */
    emit_child_address(e);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, target));
    jump_if(e, IF_NOT_EQUAL, miss);
    emit_constant(e, RCX, site);
    op_memory(e, OP_ADD, RCX, RDX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, miss);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    emit_remember_last(e, RDX, RAX, site);
    emit_bytes(e, "\x48\x92", 2); /* xchg rax, rdx */
    emit_load(e, RCX, FIELD(target));
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* The same at function detail. */
static void emit_called(struct emitter *e, uint64_t miss)
{
    struct emitter cold = cold_begin();
    uint64_t missed = cold.address;
    emit_store(&cold, FIELD(target), RCX);
    emit_jump(&cold, miss);
    cold_end(&cold);
    emit_bytes(e, "\x8b\x50", 2); /* mov edx, number of the context */
    emit_byte(e, CONTEXT(key) + 4);
    emit_bytes(e, "\xc1\xe2\x05\x8d\x14\x4a", 6); /* shl edx, 5; lea edx, [rdx + rcx * 2] */
    op_thread(e, OP_AND, RDX, FIELD(child_mask));
    op_thread(e, OP_ADD, RDX, FIELD(children));
    op_memory(e, OP_COMPARE, RAX, RDX, offsetof(struct child_slot, context));
    jump_if(e, IF_NOT_EQUAL, missed);
    op_memory(e, OP_LOAD, RDX, RDX, offsetof(struct child_slot, child));
    op_memory(e, OP_COMPARE, RCX, RDX, CONTEXT(entry));
    jump_if(e, IF_NOT_EQUAL, missed);
}

void emit_indirect_child(struct emitter *e, uint32_t site, uint64_t miss)
{
    const unsigned compare_bytes = 8, branch_bytes = 6, load_bytes = 4, entry_bytes = 4;
    uint64_t back =
        e->address + compare_bytes + branch_bytes + load_bytes + entry_bytes + branch_bytes;
    if (!options.line_detail) {
        emit_called(e, miss);
        return;
    }
    uint64_t elsewhere = cold_indirect_child(site, miss, back);
    emit_compare_site(e, RAX, site);
    jump_if(e, IF_NOT_EQUAL, elsewhere);
    op_memory(e, OP_LOAD, RDX, RAX, slot_place(site) + offsetof(struct context_slot, child));
    op_memory(e, OP_COMPARE, RCX, RDX, CONTEXT(entry));
    jump_if(e, IF_NOT_EQUAL, elsewhere);
}
