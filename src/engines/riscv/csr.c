/*
 * csr.c: the control and status registers that a user program sees: the floating point ones, and
 * counters. All counters count instructions, so that a run can be repeated.
 */
#include "engines/riscv/float.h"
#include "engines/riscv/machine.h"

enum {
    CSR_FFLAGS = 0x001,
    CSR_FRM = 0x002,
    CSR_FCSR = 0x003,
    CSR_CYCLE = 0xc00,
    CSR_TIME = 0xc01,
    CSR_INSTRET = 0xc02,
};

enum { FLAGS_MASK = 31, FCSR_MASK = 255 };

static bool read_csr(const struct riscv_machine *machine, unsigned csr, uint64_t *value)
{
    uint32_t fcsr = (machine->fcsr & ~(uint32_t)FLAGS_MASK) | float_flags();

    switch (csr) {
    case CSR_FFLAGS:
        *value = fcsr & FLAGS_MASK;
        return true;
    case CSR_FRM:
        *value = fcsr >> 5;
        return true;
    case CSR_FCSR:
        *value = fcsr;
        return true;
    case CSR_CYCLE:
    case CSR_TIME:
    case CSR_INSTRET:
        /* The block was charged up to and including this instruction, which is not done yet. */
        *value = machine_retired(machine) - 1;
        return true;
    default:
        return false;
    }
}

/* Returns false for a register that cannot be written. */
static bool write_csr(struct riscv_machine *machine, unsigned csr, uint64_t value)
{
    uint32_t fcsr = (machine->fcsr & ~(uint32_t)FLAGS_MASK) | float_flags();

    switch (csr) {
    case CSR_FFLAGS:
        fcsr = (fcsr & ~(uint32_t)FLAGS_MASK) | (value & FLAGS_MASK);
        break;
    case CSR_FRM:
        fcsr = (fcsr & FLAGS_MASK) | (uint32_t)(value & 7) << 5;
        break;
    case CSR_FCSR:
        fcsr = value & FCSR_MASK;
        break;
    default:
        return false;
    }
    machine->fcsr = fcsr;
    float_enter(fcsr);
    return true;
}

enum dispatch_stop machine_access_csr(struct riscv_machine *machine, const struct op *op,
                                      unsigned csr)
{
    unsigned operation = RISCV_csrrw + op->rs2;
    bool constant = operation >= RISCV_csrrwi;
    uint64_t operand = constant ? op->rs1 : machine->x[op->rs1], old;

    uint64_t *kept = machine->environment->csr ? machine->environment->csr(machine, csr) : NULL;
    if (kept)
        old = *kept;
    else if (!read_csr(machine, csr, &old))
        return DISPATCH_ILLEGAL;
    bool replaces = operation == RISCV_csrrw || operation == RISCV_csrrwi;
    if (replaces || op->rs1) {
        uint64_t value = operand;
        if (operation == RISCV_csrrs || operation == RISCV_csrrsi)
            value = old | operand;
        else if (!replaces)
            value = old & ~operand;
        if (kept)
            *kept = value;
        else if (!write_csr(machine, csr, value))
            return DISPATCH_ILLEGAL;
    }
    if (op->rd)
        machine->x[op->rd] = old;
    return blocks_set_rounding(&machine->blocks, machine->fcsr >> 5) ? DISPATCH_FLUSH
                                                                     : DISPATCH_BUDGET;
}
