/* foreseen.c: see foreseen.h. */
#include "engines/native/foreseen.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/children.h"
#include "engines/native/gate.h"
#include "engines/native/maps.h"
#include "engines/native/record.h"
#include "engines/x86_64/code_reader.h"

/* ---- slots of PLT stubs ---- */

unsigned plt_stub(uint64_t target, uint64_t *slot)
{
    struct code_reader reader;
    struct instruction instruction;
    struct code_place place = code_map_peek(&core.code, target);
    if (!place.plt)
        return 0;
    code_reader_init(&reader, target, maps_executable_end(target));
    for (unsigned count = 1; count <= 3 && code_reader_next(&reader, &instruction); count++) {
        if (instruction.class == CLASS_JUMP_INDIRECT && instruction.rip_relative) {
            *slot = reader.at + instruction.displacement;
            return count;
        }
        bool is_endbr = instruction.map == 1 && instruction.opcode == 0x1e;
        if (!is_endbr)
            return 0;
    }
    return 0;
}

bool may_foresee(uint64_t target)
{
    struct code_place place = code_map_peek(&core.code, target);
    return fits_in_32(target) && place.function && !place.plt && !maps_may_change(target) &&
           maps_executable_end(target) > target;
}

/* 0: it cannot be read. */
static uint64_t read_slot(uint64_t slot)
{
    uint64_t word;
    return gate_copy(&word, (const void *)slot, sizeof word) ? word : 0;
}

uint64_t foreseen_target(uint64_t slot)
{
    uint64_t target = read_slot(slot);
    return may_foresee(target) ? target : 0;
}

bool slot_is_unbound(uint64_t slot)
{
    return code_map_peek(&core.code, read_slot(slot)).plt;
}

/* ---- indirect calls ---- */

#define FORESEEN_AFTER 8 /* contexts: a block is not made twice for a call that is rare */

/* By site: what it has called. */
struct call_target {
    uint32_t target;
    uint16_t times;
    bool varies;
};

static struct call_target *call_targets;

uint64_t foreseen_call(uint32_t site)
{
    const struct call_target *known = &call_targets[site];
    bool foreseen = site < SITE_SLOTS && !known->varies && known->times >= FORESEEN_AFTER;
    return foreseen ? known->target : 0;
}

bool note_call_target(uint32_t site, uint64_t target)
{
    struct call_target *known = &call_targets[site];
    if (site >= SITE_SLOTS || known->varies)
        return false;
    if (!may_foresee(target) || (known->times && known->target != target)) {
        known->varies = true;
        return known->times >= FORESEEN_AFTER;
    }
    known->target = target;
    if (known->times < FORESEEN_AFTER)
        known->times++;
    return known->times == FORESEEN_AFTER;
}

void foreseen_init(void)
{
    if (!call_targets)
        call_targets = arena_allocate(SITE_SLOTS * sizeof *call_targets);
}
