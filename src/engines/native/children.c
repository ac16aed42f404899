/* children.c: see children.h. */
#include "engines/native/children.h"
#include "engines/native/assemble.h"
#include "engines/native/record.h"

#define SLOT_MASK ((CHILD_SLOTS - 1) * (uint32_t)sizeof(struct child_slot))

/* Over the whole table: contexts are numbered one after the other, and where they are near each other
 * they are in each other's way. */
static uint32_t site_hash(uint32_t site)
{
    return site * 0x9e3779b1u & ~31u;
}

static struct child_slot *slot_at(const struct native_thread *thread, uint32_t hash)
{
    return (struct child_slot *)((uint8_t *)thread->children + (hash & SLOT_MASK));
}

/* ---- beside the context ---- */

#define CALL_CHILDREN (CONTEXT_CHILDREN - 1) /* the last is for transitions */

static unsigned child_index(uint32_t number, uint64_t target)
{
    return number & TRANSITION ? CALL_CHILDREN : (uint32_t)(target >> 4) % CALL_CHILDREN;
}

static uint8_t child_place(unsigned index)
{
    return offsetof(struct context, children) + index * sizeof(struct context *);
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
    else if (child->entry == target)
        context->children[child_index(number, target)] = child;
}

/* ---- in the thread ---- */

struct child_slot *fast_call_slot(const struct native_thread *thread, const struct context *context,
                                  uint32_t site)
{
    return slot_at(thread, (context_number(context) << 5) + site_hash(site));
}

struct child_slot *fast_indirect_slot(const struct native_thread *thread,
                                      const struct context *context, uint32_t site, uint64_t target)
{
    return slot_at(thread, (context_number(context) << 5) + site_hash(site) + 2 * (uint32_t)target);
}

bool fast_is_by_target(uint32_t number, uint64_t target)
{
    return !options.line_detail && !(number & TRANSITION) && fits_in_32(target);
}

struct child_slot *fast_called_slot(const struct native_thread *thread,
                                    const struct context *context, uint64_t target)
{
    return slot_at(thread, (context_number(context) << 5) + 2 * (uint32_t)target);
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
    op_constant32(e, 4, RAX, SLOT_MASK);
    op_thread(e, OP_ADD, RAX, FIELD(children));
}

static uint32_t last_place(uint32_t site)
{
    return site * (uint32_t)sizeof(struct site_slot);
}

/* Is what the site did last of the context? `slots` = the thread's; the jump to be ended where
 * it is not. NULL: the site has no such memory. */
static uint8_t *emit_compare_last(struct emitter *e, unsigned context, unsigned slots,
                                  uint32_t site)
{
    if (site >= SITE_SLOTS)
        return NULL;
    emit_load(e, slots, FIELD(sites));
    op_far(e, OP_COMPARE, context, slots, last_place(site) + offsetof(struct site_slot, context));
    emit_bytes(e, "\x75\x00", 2); /* jne */
    return e->out;
}

static void emit_remember_last(struct emitter *e, unsigned context, unsigned child, unsigned slots,
                               uint32_t site)
{
    if (site >= SITE_SLOTS)
        return;
    emit_load(e, slots, FIELD(sites));
    op_far(e, OP_STORE, context, slots, last_place(site) + offsetof(struct site_slot, context));
    op_far(e, OP_STORE, child, slots, last_place(site) + offsetof(struct site_slot, child));
}

/* cmp qword [rax + entry], target */
static void emit_compare_entry(struct emitter *e, uint64_t target)
{
    emit_bytes(e, "\x48\x81\x78", 3);
    emit_byte(e, CONTEXT(entry));
    emit_u32(e, target);
}

void emit_entry_check(struct emitter *e, uint64_t target, uint64_t miss)
{
    emit_compare_entry(e, target);
    jump_if(e, IF_NOT_EQUAL, miss);
}

/* rax, the child of the context in rcx, is beside it from now on. */
static void emit_put_beside(struct emitter *e, uint32_t number, uint64_t target)
{
    if (options.line_detail) {
        uint8_t place = slot_place(number);
        store_constant(e, RCX, place + offsetof(struct context_slot, site), number);
        op_memory(e, OP_STORE, RAX, RCX, place + offsetof(struct context_slot, child));
    } else if (fits_in_32(target)) {
        emit_compare_entry(e, target);
        emit_bytes(e, "\x75\x00", 2); /* jne */
        uint8_t *elsewhere = e->out;
        op_memory(e, OP_STORE, RAX, RCX, child_place(child_index(number, target)));
        end_short_jump(e, elsewhere);
    }
}

/* The child is not beside the context in rcx: it may be in the table, and is beside it then. On to
 * `back` with it in rax. */
static uint64_t cold_child_by_target(uint64_t target, uint64_t miss, uint64_t back)
{
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    load_context_number(e, RCX);
    emit_bytes(e, "\xc1\xe0\x05", 3); /* shl eax, 5 */
    op_constant32(e, 0, RAX, 2 * (uint32_t)target);
    emit_child_address(e);
    op_memory(e, OP_COMPARE, RCX, RAX, offsetof(struct child_slot, context));
    jump_if(e, IF_NOT_EQUAL, miss);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    emit_entry_check(e, target, miss);
    op_memory(e, OP_STORE, RAX, RCX, child_place(child_index(0, target)));
    emit_jump(e, back);
    cold_end(e);
    return address;
}

/* The same for others; it may be what the site did last, too. */
static uint64_t cold_child(uint32_t site, uint64_t target, bool foreseen, uint64_t miss,
                           uint64_t back)
{
    if (fast_is_by_target(site, target))
        return cold_child_by_target(target, miss, back);
    struct emitter missed = cold_begin();
    uint64_t missed_at = missed.address;
    emit_unspill(&missed, RDX);
    emit_jump(&missed, miss);
    cold_end(&missed);

    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    uint8_t *elsewhere = emit_compare_last(e, RCX, RAX, site);
    if (elsewhere) {
        op_far(e, OP_LOAD, RAX, RAX, last_place(site) + offsetof(struct site_slot, child));
        if (foreseen)
            emit_entry_check(e, target, miss);
        emit_jump(e, back);
        end_short_jump(e, elsewhere);
    }
    emit_spill(e, RDX);
    emit_child_slot(e, RCX, site);
    emit_child_address(e);
    emit_constant(e, RDX, site);
    op_memory(e, OP_ADD, RDX, RCX, CONTEXT(key));
    op_memory(e, OP_COMPARE, RDX, RAX, offsetof(struct child_slot, key));
    jump_if(e, IF_NOT_EQUAL, missed_at);
    op_memory(e, OP_LOAD, RAX, RAX, offsetof(struct child_slot, child));
    if (foreseen)
        emit_entry_check(e, target, missed_at);
    emit_put_beside(e, site, target);
    emit_remember_last(e, RCX, RAX, RDX, site);
    emit_unspill(e, RDX);
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

/* rax = the child that is beside `context`; the jump to where it is looked for elsewhere ends at the
 * lookup's address. */
static struct child_lookup emit_look_beside(struct emitter *e, unsigned context, uint32_t number,
                                            uint64_t target)
{
    struct child_lookup lookup;
    if (options.line_detail) {
        emit_compare_site(e, context, number);
        jump_if(e, IF_NOT_EQUAL, 0);
    } else if (fits_in_32(target)) {
        op_memory(e, OP_LOAD, RAX, context, child_place(child_index(number, target)));
        emit_compare_entry(e, target);
        jump_if(e, IF_NOT_EQUAL, 0);
    } else {
        emit_jump(e, 0);
    }
    lookup.branch_end = e->out;
    lookup.address = e->address;
    if (options.line_detail)
        op_memory(e, OP_LOAD, RAX, context,
                  slot_place(number) + offsetof(struct context_slot, child));
    lookup.back = e->address;
    return lookup;
}

static void end_lookup(const struct child_lookup *lookup, uint64_t at)
{
    uint32_t distance = at - lookup->address;
    memcpy(lookup->branch_end - 4, &distance, 4);
}

struct child_lookup emit_beside(struct emitter *e, uint32_t number, uint64_t target)
{
    return emit_look_beside(e, RCX, number, target);
}

void finish_beside(const struct child_lookup *lookup, uint32_t number, uint64_t target,
                   bool foreseen, uint64_t miss)
{
    end_lookup(lookup, cold_child(number, target, foreseen, miss, lookup->back));
}

/* The child is not beside the current context; rax has been used. */
static uint64_t cold_child_of_current(uint32_t site, uint64_t target, uint64_t miss, uint64_t back)
{
    struct emitter found = cold_begin();
    uint64_t found_at = found.address;
    emit_unspill(&found, RCX);
    emit_jump(&found, back);
    cold_end(&found);
    uint64_t look = cold_child(site, target, false, miss, found_at);

    struct emitter cold = cold_begin();
    uint64_t address = cold.address;
    emit_spill(&cold, RCX);
    emit_load(&cold, RCX, FIELD(hot.current));
    emit_jump(&cold, look);
    cold_end(&cold);
    return address;
}

void emit_child_of_current(struct emitter *e, uint32_t site, uint64_t target, bool foreseen,
                           uint64_t miss)
{
    if (foreseen) {
        emit_load(e, RCX, FIELD(hot.current));
        struct child_lookup lookup = emit_beside(e, site, target);
        finish_beside(&lookup, site, target, true, miss);
        return;
    }
    emit_load(e, RAX, FIELD(hot.current));
    struct child_lookup lookup = emit_look_beside(e, RAX, site, target);
    end_lookup(&lookup, cold_child_of_current(site, target, miss, lookup.back));
}

_Static_assert(sizeof(struct context) <= 128, "slots are reached with eight-bit offsets");

/* The child of the context in rax for the target in rcx is not beside it: it may be in the table.
 * On to `back` with it in rdx. */
static uint64_t cold_indirect_child(uint32_t site, uint64_t miss, uint64_t back)
{
    struct emitter cold = cold_begin(), *e = &cold;
    uint64_t address = cold.address;
    uint8_t *elsewhere = emit_compare_last(e, RAX, RDX, site);
    if (elsewhere) {
        op_far(e, OP_LOAD, RDX, RDX, last_place(site) + offsetof(struct site_slot, child));
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
    emit_remember_last(e, RDX, RAX, RCX, site);
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
    op_constant32(e, 4, RDX, SLOT_MASK);
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
