/*
 * block_state.h: all that a block can see and change, and how it is entered with it and left.
 */
#ifndef BLOCK_STATE_H
#define BLOCK_STATE_H

#include <stddef.h>
#include <stdint.h>

#define STATE 0x20000000 /* reached without a base register */

struct state {
    uint64_t registers[16];  /* 0 */
    uint64_t flags;          /* 128 */
    uint64_t code;           /* 136: where the block begins */
    uint64_t leave;          /* 144: where it goes at its end */
    uint64_t host_stack;     /* 152 */
    uint64_t counter;        /* 160: of loops */
    uint64_t targets[8];     /* 168: of indirect branches */
    uint64_t fault;          /* 232: signal, and where */
    uint32_t wide, control;  /* 240, 244: there is AVX-512; mxcsr */
    uint64_t unused;         /* 248 */
    uint64_t masks[8];       /* 256 */
    uint8_t vectors[32][64]; /* 320 */
    uint8_t x87[512];        /* 2368 */
};

_Static_assert(offsetof(struct state, masks) == 256, "the numbers below");
_Static_assert(offsetof(struct state, vectors) == 320 && offsetof(struct state, x87) == 2368,
               "too");

static struct state *const state = (struct state *)STATE;
void enter_block(void), leave_block(void);

#define REGISTERS(each)                                                                            \
    each("rax", 0) each("rcx", 8) each("rdx", 16) each("rbx", 24) each("rbp", 40) each("rsi", 48)  \
        each("rdi", 56) each("r8", 64) each("r9", 72) each("r10", 80) each("r11", 88)              \
            each("r12", 96) each("r13", 104) each("r14", 112) each("r15", 120)
#define LOAD(name, at)  "mov 0x20000000+" #at ", %" name "\n"
#define STORE(name, at) "mov %" name ", 0x20000000+" #at "\n"

/* Sixteen registers without AVX-512, thirty-two with. */
__asm__(
    ".text\n.globl enter_block, leave_block\n"
    "enter_block:\n"
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
    "mov %rsp, 0x20000000+152\n"
    "ldmxcsr 0x20000000+244; fninit\n"
    "cmpl $0, 0x20000000+240; je 1f\n"
    ".altmacro\n.macro each_wide n\nvmovdqu64 0x20000000+320+64*\\n, %zmm\\n\n.endm\n"
    ".macro each_narrow n\nvmovdqu 0x20000000+320+64*\\n, %ymm\\n\n.endm\n"
    ".macro each_mask n\nkmovq 0x20000000+256+8*\\n, %k\\n\n.endm\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    "each_wide \\n\n.endr\n"
    ".irp n,0,1,2,3,4,5,6,7\neach_mask \\n\n.endr\n"
    "jmp 2f\n"
    "1:\n"
    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\neach_narrow \\n\n.endr\n"
    "2: mov 0x20000000+32, %rsp; pushq 0x20000000+128; popfq\n" REGISTERS(
        LOAD) "jmp *0x20000000+136\n"
              "leave_block:\n" REGISTERS(
                  STORE) "mov %rsp, 0x20000000+32; mov 0x20000000+152, %rsp\n"
                         "pushfq; popq 0x20000000+128; cld\n"
                         "fxsave64 0x20000000+2368\n"
                         "cmpl $0, 0x20000000+240; je 1f\n"
                         ".macro store_wide n\nvmovdqu64 %zmm\\n, 0x20000000+320+64*\\n\n.endm\n"
                         ".macro store_narrow n\nvmovdqu %ymm\\n, 0x20000000+320+64*\\n\n.endm\n"
                         ".macro store_mask n\nkmovq %k\\n, 0x20000000+256+8*\\n\n.endm\n"
                         ".irp "
                         "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,"
                         "27,28,29,30,31\n"
                         "store_wide \\n\n.endr\n"
                         ".irp n,0,1,2,3,4,5,6,7\nstore_mask \\n\n.endr\n"
                         "jmp 2f\n"
                         "1:\n"
                         ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nstore_narrow \\n\n.endr\n"
                         "2: vzeroupper; fninit; movl $0x1f80, 0x20000000+244; ldmxcsr "
                         "0x20000000+244\n"
                         "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\n");

#endif
