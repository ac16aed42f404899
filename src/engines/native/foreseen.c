/* foreseen.c: see foreseen.h. */
#include "engines/native/foreseen.h"
#include "engines/native/arena.h"
#include "engines/native/assemble.h"
#include "engines/native/children.h"
#include "engines/x86_64/decode.h"
#include "engines/native/maps.h"
#include "engines/native/record.h"
#include <sys/mman.h>

/* ---- slots of PLT stubs ---- */

unsigned plt_stub(uint64_t target, uint64_t *slot)
{
    struct instruction instruction;
    struct code_place place = code_map_peek(&core.code, target);
    uint64_t at = target, end = maps_executable_end(target);
    unsigned count = 0;
    if (!place.plt)
        return 0;
    while (count < 3 && at < end) {
        unsigned left = end - at < 15 ? end - at : 15;
        if (!instruction_decode((const uint8_t *)at, left, &instruction))
            return 0;
        count++;
        at += instruction.length;
        if (instruction.class == CLASS_JUMP_INDIRECT && instruction.rip_relative) {
            *slot = at + instruction.displacement;
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
    struct mapping mapping;
    bool readable =
        maps_find(slot, &mapping) && mapping.protection & PROT_READ && slot + 8 <= mapping.end;
    return readable ? *(const uint64_t *)slot : 0;
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
