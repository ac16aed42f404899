#include "engines/riscv/translate.h"

#include "engines/riscv/float.h"
#include "engines/riscv/machine.h"
#include "engines/riscv/profiling.h"
#include <string.h>

/* Where writes to x0 go. */
#define NOWHERE 32

static struct op *emit(const struct block_cache *cache, struct translation *translation,
                       unsigned micro)
{
    struct op *op = &translation->ops[translation->op_count++];

    translation->before_micro = translation->last_micro;
    translation->last_micro = (uint16_t)micro;
    *op = (struct op){.handler = cache->handlers[micro],
                      .ordinal = (uint8_t)translation->instructions};
    return op;
}

static const struct {
    uint16_t first, second, fused;
} fusions[] = {
#define FUSION(first, second) {MICRO_##first, MICRO_##second, MICRO_##first##_##second},
    RISCV_FUSIONS(FUSION, FUSION)};

static bool is_commutative(unsigned micro)
{
    switch (micro) {
    case RISCV_add:
    case RISCV_addw:
    case RISCV_xor:
    case RISCV_mulw:
    case RISCV_beq:
    case RISCV_bne:
        return true;
    default:
        return false;
    }
}

/* Makes one operation of the last two, if they are a pair and the second wants the first's result.
 * The second one stays where it is: it holds its operands. */
static void fuse_last_two(const struct block_cache *cache, struct translation *translation)
{
    if (translation->op_count < 2)
        return;
    struct op *second = &translation->ops[translation->op_count - 1], *first = second - 1;
    for (size_t i = 0; i < sizeof fusions / sizeof fusions[0]; i++) {
        if (fusions[i].first != translation->before_micro ||
            fusions[i].second != translation->last_micro)
            continue;
        if (second->rs1 != first->rd && second->rs2 == first->rd &&
            is_commutative(translation->last_micro)) {
            uint8_t swapped = second->rs1;
            second->rs1 = second->rs2;
            second->rs2 = swapped;
        }
        if (second->rs1 != first->rd)
            return;
        first->handler = cache->handlers[fusions[i].fused];
        translation->last_micro = MICRO_COUNT;
        return;
    }
}

/* Reads the instruction at an address; 0 bytes if there is no code. */
static unsigned fetch(const struct riscv_machine *machine, uint64_t address, uint32_t *word)
{
    uint16_t half;

    if (address & (machine->blocks.only_whole_words ? 3 : 1))
        return 0;
    if (!memory_allows(&machine->memory, address, sizeof half, MEMORY_EXECUTE))
        return 0;
    memcpy(&half, memory_host(&machine->memory, address), sizeof half);
    *word = half;
    if (riscv_length(half) == 2)
        return 2;
    if (!memory_allows(&machine->memory, address + 2, sizeof half, MEMORY_EXECUTE))
        return 0;
    memcpy(&half, memory_host(&machine->memory, address + 2), sizeof half);
    *word |= (uint32_t)half << 16;
    return 4;
}

static bool is_conversion_to_integer(unsigned operation)
{
    switch (operation) {
    case RISCV_fcvt_w_s:
    case RISCV_fcvt_wu_s:
    case RISCV_fcvt_l_s:
    case RISCV_fcvt_lu_s:
    case RISCV_fcvt_w_d:
    case RISCV_fcvt_wu_d:
    case RISCV_fcvt_l_d:
    case RISCV_fcvt_lu_d:
        return true;
    default:
        return false;
    }
}

static bool is_always_exact(unsigned operation)
{
    return operation == RISCV_fcvt_d_w || operation == RISCV_fcvt_d_wu ||
           operation == RISCV_fcvt_d_s;
}

static void emit_plain(const struct block_cache *cache, struct translation *translation,
                       const struct riscv_instruction *instruction)
{
    struct op *op = emit(cache, translation, instruction->operation);

    op->rd = instruction->rd;
    op->rs1 = instruction->rs1;
    op->rs2 = instruction->rs2;
    op->immediate = instruction->immediate;
}

/* Floats with a rounding mode of their own are set between two operations that switch the host's.
 * Returns false for an instruction that frm makes illegal. */
static bool emit_float(const struct block_cache *cache, struct translation *translation,
                       const struct riscv_instruction *instruction)
{
    unsigned rounding = instruction->rounding;
    bool to_integer = is_conversion_to_integer(instruction->operation);

    if (rounding == ROUND_DYNAMIC) {
        if (cache->illegal_rounding)
            return false;
        if (cache->away)
            rounding = ROUND_NEAREST_AWAY;
    }
    if (rounding == ROUND_NEAREST_AWAY && !to_integer) {
        emit(cache, translation, MICRO_float_away)->immediate = (int32_t)instruction->word;
        return true;
    }
    bool switches =
        rounding != ROUND_DYNAMIC && !to_integer && !is_always_exact(instruction->operation);
    if (switches)
        emit(cache, translation, MICRO_set_rounding)->immediate = (int32_t)rounding;
    struct op *op = emit(cache, translation, instruction->operation);
    op->rd = to_integer && !instruction->rd ? NOWHERE : instruction->rd;
    op->rs1 = instruction->rs1;
    op->rs2 = instruction->rs2;
    op->immediate = (int32_t)(instruction->rs3 | rounding << 8);
    if (switches)
        emit(cache, translation, MICRO_restore_rounding);
    return true;
}

static bool writes_float(unsigned operation)
{
    switch (operation) {
    case RISCV_flw:
    case RISCV_fld:
    case RISCV_fsgnj_s:
    case RISCV_fsgnjn_s:
    case RISCV_fsgnjx_s:
    case RISCV_fmin_s:
    case RISCV_fmax_s:
    case RISCV_fsgnj_d:
    case RISCV_fsgnjn_d:
    case RISCV_fsgnjx_d:
    case RISCV_fmin_d:
    case RISCV_fmax_d:
    case RISCV_fmv_w_x:
    case RISCV_fmv_d_x:
        return true;
    default:
        return false;
    }
}

static bool is_store(unsigned operation)
{
    return operation == RISCV_sb || operation == RISCV_sh || operation == RISCV_sw ||
           operation == RISCV_sd || operation == RISCV_fsw || operation == RISCV_fsd;
}

/* Loads and atomics happen even when nobody wants the value; comparisons of floats raise flags. */
static bool has_effect_without_result(const struct riscv_instruction *instruction)
{
    unsigned opcode = instruction->word & 0x7f;
    return opcode == 0x03 || opcode == 0x2f || opcode == 0x53;
}

/* Straight-line instructions. Returns false if the block must end before this one, which happens
 * when a pc-relative constant does not fit behind what is already in the block. */
static bool translate_plain(const struct block_cache *cache, struct translation *translation,
                            const struct riscv_instruction *instruction)
{
    unsigned operation = instruction->operation;

    if (operation == RISCV_fence)
        return true;
    if (is_store(operation) || writes_float(operation)) {
        emit_plain(cache, translation, instruction);
        return true;
    }
    if (!instruction->rd && !has_effect_without_result(instruction))
        return true;
    if (operation == RISCV_lui || (operation == RISCV_addi && !instruction->rs1)) {
        struct op *op = emit(cache, translation, MICRO_load_constant);
        op->rd = instruction->rd;
        op->immediate = instruction->immediate;
        return true;
    }
    int32_t immediate = instruction->immediate;
    if (operation == RISCV_auipc &&
        __builtin_add_overflow(immediate, (int32_t)(translation->end - translation->address),
                               &immediate))
        return false;
    bool moves = (operation == RISCV_addi && !immediate) ||
                 (operation == RISCV_add && (!instruction->rs1 || !instruction->rs2));
    struct op *op = emit(cache, translation, moves ? (unsigned)MICRO_move : operation);
    op->rd = instruction->rd ? instruction->rd : NOWHERE;
    op->rs1 =
        moves && !instruction->rs1 && operation == RISCV_add ? instruction->rs2 : instruction->rs1;
    op->rs2 = instruction->rs2;
    op->immediate = immediate;
    return true;
}

static void translate_branch(const struct block_cache *cache, struct translation *translation,
                             const struct riscv_instruction *instruction)
{
    unsigned micro = instruction->operation;

    if (!instruction->rs2) {
        switch (micro) {
        case RISCV_beq:
            micro = MICRO_beqz;
            break;
        case RISCV_bne:
            micro = MICRO_bnez;
            break;
        case RISCV_blt:
            micro = MICRO_bltz;
            break;
        case RISCV_bge:
            micro = MICRO_bgez;
            break;
        }
    }
    struct op *op = emit(cache, translation, micro);
    op->rs1 = instruction->rs1;
    op->rs2 = instruction->rs2;
    translation->target = translation->end + (uint64_t)(int64_t)instruction->immediate;
}

/* `ebreak` between two shifts that do nothing: a call to the debugger (linux_semihosting.c). */
static bool is_semihosting(const struct riscv_machine *machine, uint64_t address)
{
    static const uint32_t call[] = {0x01f01013, 0x00100073, 0x40705013};
    uint32_t words[3];

    return memory_read(&machine->memory, address - 4, words, sizeof words) &&
           !memcmp(words, call, sizeof call);
}

/* An environment call is a block of its own, without instructions: it is charged when it is made,
 * to a frame of its own. */
static bool is_environment_call(const struct riscv_machine *machine,
                                const struct riscv_instruction *instruction, uint64_t address)
{
    return instruction->operation == RISCV_ecall ||
           (instruction->operation == RISCV_ebreak &&
            (machine->blocks.lambda || is_semihosting(machine, address)));
}

/* A PLT stub leaves in t1 where it is, for a resolver; nobody returns there. */
static void translate_stub(const struct block_cache *cache, struct translation *translation,
                           const struct riscv_instruction *instruction)
{
    struct op *op = emit(cache, translation, RISCV_auipc);

    op->rd = instruction->rd;
    op->immediate = (int32_t)(translation->end + instruction->length - translation->address);
    op = emit(cache, translation, MICRO_jump_register);
    op->rs1 = instruction->rs1;
    op->immediate = instruction->immediate;
}

static void translate_control(const struct block_cache *cache, struct translation *translation,
                              const struct riscv_instruction *instruction)
{
    bool links = instruction->rd != 0;
    struct op *op;

    switch (instruction->operation) {
    case RISCV_jal:
        op = emit(cache, translation, links ? MICRO_call : MICRO_jump);
        translation->calls = links;
        op->rd = instruction->rd;
        translation->target = translation->end + (uint64_t)(int64_t)instruction->immediate;
        break;
    case RISCV_jalr:
        op = emit(cache, translation, links ? MICRO_call_register : MICRO_jump_register);
        translation->calls = links;
        op->rd = instruction->rd;
        op->rs1 = instruction->rs1;
        op->immediate = instruction->immediate;
        break;
    case RISCV_fence_i:
    case RISCV_ebreak:
    case RISCV_ILLEGAL:
        emit(cache, translation, instruction->operation);
        break;
    default: /* Zicsr */
        op = emit(cache, translation, cache->lambda ? MICRO_fall_through : MICRO_csr);
        op->rd = instruction->rd;
        op->rs1 = instruction->rs1;
        op->rs2 = (uint8_t)(instruction->operation - RISCV_csrrw);
        op->immediate = instruction->immediate;
        break;
    }
}

/* A marker changes the context of what follows, so that it ends its block. */
static bool is_marker(const struct riscv_instruction *instruction)
{
    return instruction->operation == RISCV_addi && !instruction->rd && !instruction->rs1 &&
           instruction->immediate;
}

/* A request to the profiler: four shifts that change nothing, then `or a0, a0, a0`. */
static bool is_request(const struct riscv_machine *machine, const struct translation *translation,
                       const struct riscv_instruction *instruction)
{
    static const uint32_t shifts[] = {0x00305013, 0x00d05013, 0x03305013, 0x03d05013};
    static const uint32_t or_a0 = 0x00a56533;

    return instruction->word == or_a0 && instruction->length == 4 &&
           translation->end - translation->address >= sizeof shifts &&
           !memcmp(memory_host(&machine->memory, translation->end - sizeof shifts), shifts,
                   sizeof shifts);
}

/* Translates one instruction; returns false if the block ends before it. `*ends` is set when it
 * ends with it. */
static bool translate_instruction(const struct block_cache *cache, struct translation *translation,
                                  const struct riscv_instruction *instruction, bool *ends)
{
    *ends = true;
    if (instruction->kind == RISCV_KIND_BRANCH) {
        translate_branch(cache, translation, instruction);
    } else if (instruction->kind == RISCV_KIND_CONTROL) {
        translate_control(cache, translation, instruction);
    } else if (cache->profiled && is_marker(instruction)) {
        emit(cache, translation, MICRO_marker)->immediate = instruction->immediate;
    } else if (instruction->has_rounding) {
        *ends = !emit_float(cache, translation, instruction);
        if (*ends)
            emit(cache, translation, RISCV_ILLEGAL);
    } else {
        *ends = false;
        return translate_plain(cache, translation, instruction);
    }
    return true;
}

static bool is_stub(struct riscv_machine *machine, const struct riscv_instruction *instruction,
                    uint64_t address)
{
    return instruction->operation == RISCV_jalr && instruction->rd &&
           instruction->rd != instruction->rs1 && profiling_is_plt(machine, address);
}

bool translate_block(struct riscv_machine *machine, uint64_t address, unsigned most,
                     struct translation *translation)
{
    const struct block_cache *cache = &machine->blocks;
    uint64_t boundary = profiling_function_end(machine, address);
    bool ends = false;

    translation->address = translation->end = address;
    translation->target = 0;
    translation->instructions = translation->op_count = 0;
    translation->calls = false;
    translation->before_micro = translation->last_micro = MICRO_COUNT;
    while (!ends && translation->instructions < most && translation->end < boundary) {
        uint32_t word;
        if (!fetch(machine, translation->end, &word))
            break;
        struct riscv_instruction instruction = riscv_decode(word);
        bool environment_call = is_environment_call(machine, &instruction, translation->end);
        if (environment_call && translation->instructions)
            break;
        if (environment_call) {
            emit(cache, translation, RISCV_ecall);
            ends = true;
        } else if (is_stub(machine, &instruction, translation->end)) {
            translate_stub(cache, translation, &instruction);
            ends = true;
        } else if (cache->profiled && is_request(machine, translation, &instruction)) {
            emit(cache, translation, MICRO_request);
            ends = true;
        } else if (!translate_instruction(cache, translation, &instruction, &ends)) {
            break;
        }
        fuse_last_two(cache, translation);
        translation->lengths[translation->instructions] = instruction.length;
        translation->end += instruction.length;
        translation->instructions += !environment_call;
    }
    if (translation->end == address)
        return false;
    if (!ends)
        emit(cache, translation, MICRO_fall_through);
    return true;
}
