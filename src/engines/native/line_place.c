/* line_place.c: see line_place.h. */
#include "engines/native/line_place.h"
#include "engines/native/python_counts.h"
#include "engines/native/python_stores.h"

#define LOOK_BACK 12 /* instructions */

enum { NO_REGISTER = 0xff };

/* ---- registers ---- */

static bool is_load(const struct instruction *i)
{
    if (i->map == 0)
        return i->opcode == 0x8b || i->opcode == 0x63; /* mov, movsxd */
    return (i->opcode | 9) == 0xbf;                    /* movzx, movsx */
}

/* xor or sub of a register and itself: it is not read. */
static bool clears(const struct instruction *i)
{
    bool operation = i->map == 0 && ((i->opcode | 2) == 0x33 || (i->opcode | 2) == 0x2b);
    return operation && i->modrm >= 0xc0 && instruction_reg(i) == instruction_rm(i);
}

/* movzx, movsx of ah, ch, dh or bh, which are parts of other registers than their numbers say. */
static bool reads_high_byte(const struct instruction *i)
{
    return i->map == 1 && (i->opcode | 8) == 0xbe && i->modrm >= 0xc4 && !i->rex;
}

static bool addresses_by(const struct instruction *i, unsigned reg)
{
    unsigned index = (i->rex & 2) << 2 | (i->sib >> 3 & 7), base = (i->rex & 1) << 3 | (i->sib & 7);
    bool has_sib = i->modrm < 0xc0 && (i->modrm & 7) == 4;
    return has_sib ? reg == index || reg == base : reg == instruction_rm(i);
}

/* The register that the instruction overwrites as a whole and does not read, or NO_REGISTER.
 * Few are looked for: those that compilers make most of. */
static unsigned overwritten(const struct instruction *i)
{
    unsigned in_opcode = (i->rex & 1) << 3 | (i->opcode & 7), reg = instruction_reg(i);
    if (i->encoding != ENCODING_LEGACY || i->class != CLASS_ORDINARY || i->map > 1 ||
        i->prefixes & ~(PREFIX_FS | PREFIX_GS))
        return NO_REGISTER;
    if (i->map == 0 && ((i->opcode & 0xf8) == 0xb8 || (i->opcode & 0xf8) == 0x58))
        return in_opcode; /* mov of a constant, pop */
    if (clears(i))
        return reg;
    bool is_lea = i->map == 0 && i->opcode == 0x8d;
    if (is_lea && i->rip_relative)
        return reg;
    if ((is_lea || is_load(i)) && !i->rip_relative && !reads_high_byte(i) && !addresses_by(i, reg))
        return reg;
    return NO_REGISTER;
}

static bool may_fault(const struct instruction *i)
{
    bool pops = i->map == 0 && (i->opcode & 0xf8) == 0x58;
    return pops || (is_load(i) && i->modrm < 0xc0);
}

/* ---- places ---- */

struct candidate {
    unsigned index;
    bool flags; /* are live */
    enum line_borrow borrow;
    unsigned reg;
    unsigned cost; /* instructions */
};

static struct candidate candidate_at(const struct translation *t, unsigned index)
{
    const struct instruction *instruction = &t->instructions[index];
    bool flags = !flags_dead(t, index);
    unsigned reg = overwritten(instruction);
    bool usable =
        reg != NO_REGISTER && (reg & 7) != REGISTER_RSP && (reg < 8 || !flags); /* as a base */
    enum line_borrow borrow = !usable                  ? BORROW_SPILLED
                              : may_fault(instruction) ? BORROW_KEPT
                                                       : BORROW_FREE;
    return (struct candidate){index, flags, borrow, usable ? reg : REGISTER_RAX,
                              2 + 2 * flags + borrow};
}

/* Rather not between an instruction that sets flags and its branch, which processors make one of. */
static struct candidate best_candidate(const struct translation *t, unsigned first, unsigned end)
{
    struct candidate best = candidate_at(t, end - 1);
    if (end - first >= 2 && t->instructions[end - 1].class == CLASS_JUMP_IF &&
        t->instructions[end - 2].flags_killed)
        best.cost++;
    for (unsigned i = end - 1, looked = 0; i-- > first && looked < LOOK_BACK && best.cost > 2;
         looked++) {
        struct candidate other = candidate_at(t, i);
        if (other.cost < best.cost)
            best = other;
    }
    return best;
}

unsigned line_place_first(const struct translation *t, unsigned first, unsigned end)
{
    for (unsigned i = end - 1; i > first; i--)
        if (python_may_set_line(t, i - 1))
            return i;
    return first;
}

/* An evaluator's run is counted where the flags are dead, or it is as cheap elsewhere; so there has to
 * be a register too. The last instruction may be behind a look at the frame. */
static struct line_place evaluated_place(struct translation *t, unsigned first, unsigned end,
                                         uint32_t run)
{
    struct candidate best = {.borrow = BORROW_SPILLED};
    first = line_place_first(t, first, end);
    for (unsigned i = end - 1, looked = 0;
         i-- > first && looked < LOOK_BACK && best.borrow != BORROW_FREE; looked++) {
        struct candidate other = candidate_at(t, i);
        if (!other.flags && other.borrow < best.borrow)
            best = other;
    }
    if (best.borrow == BORROW_SPILLED)
        return (struct line_place){0};
    return (struct line_place){
        .index = best.index,
        .count = lines_plan_evaluated(t, best.index, run, best.borrow, best.reg),
    };
}

/* The sequence of a call has the flags and a register free, that of a return or an indirect jump the
 * register. */
struct line_place line_place(struct translation *t, unsigned first, unsigned end, uint32_t run,
                             uint32_t stub)
{
    const struct instruction *last = &t->instructions[end - 1];
    const unsigned sequence_cost = 4;
    bool calls = last->class == CLASS_CALL || last->class == CLASS_CALL_INDIRECT;
    bool drops = last->class == CLASS_RETURN && last->immediate;
    if (run && python_counts_settle(t))
        return evaluated_place(t, first, end, run);
    if (!lines_have_room(t, run, stub))
        return (struct line_place){0};
    struct candidate best = {.flags = false, .borrow = BORROW_SPILLED, .reg = REGISTER_RAX};
    bool folds = folds_count(t, end - 1) && !drops;
    if (!folds || !calls)
        best = best_candidate(t, first, end);
    if (folds && !calls) {
        folds = best.cost >= sequence_cost;
        best.flags |= folds;
    }
    struct line_place place = {.index = best.index, .folds = folds};
    place.count = lines_plan_run(t, best.index, run, stub, best.flags);
    if (!folds) {
        place.count.borrow = best.borrow;
        place.count.reg = best.reg;
    }
    return place;
}
