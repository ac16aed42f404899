/*
 * template.h: the machine code of a trampoline, and how to unwind through it.
 *
 * A trampoline calls its fourth argument, the frame evaluator, with the first three. That is all it
 * does: it exists so that one Python function has one address of its own on the native stack. The
 * evaluator comes as an argument so that every copy is the same bytes wherever it lies, and it
 * keeps a frame pointer so that `perf record -g` can walk through it.
 *
 *     x86-64                        aarch64
 *     push %rbp                     stp x29, x30, [sp, #-16]!
 *     mov  %rsp, %rbp               mov x29, sp
 *     call *%rcx                    blr x3
 *     pop  %rbp                     ldp x29, x30, [sp], #16
 *     ret                           ret
 *
 * Bytes, not labels around an assembly function: a linker or a post-link optimiser may move or pad
 * what lies between two labels, and then the copies are wrong. template_*.S says the same in
 * assembly; a test assembles both and compares code and unwind tables with what is here.
 */
#ifndef TRUEFLAME_PYTHON_TEMPLATE_H
#define TRUEFLAME_PYTHON_TEMPLATE_H

#include <stdint.h>

/* Every symbol below is defined for one machine; a test includes this file once for each. */
#if defined(TEMPLATE_FOR_AARCH64) || (defined(__aarch64__) && !defined(TEMPLATE_FOR_X86_64))

#define TEMPLATE_ELF_MACHINE 183 /* EM_AARCH64 */

#define TEMPLATE_CODE                                                                              \
    0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x60, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1,      \
        0xa8, 0xc0, 0x03, 0x5f, 0xd6
#define TEMPLATE_CODE_SIZE 20

/* One common information entry, one frame description entry. The four bytes at
 * TEMPLATE_PC_BEGIN_OFFSET are where the code is, relative to themselves. */
#define TEMPLATE_EH_FRAME                                                                          \
    0x10, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x7c, 0x1e, 1, 0x1b, 0x0c, 0x1f, 0, 0x20, 0, 0,  \
        0, 0x18, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0x44, 0x0e, 0x10, 0x9d, 0x04, 0x9e, 0x02,  \
        0x44, 0x0d, 0x1d, 0x48, 0x0c, 0x1f, 0, 0xdd, 0xde, 0, 0, 0
#define TEMPLATE_EH_FRAME_SIZE   56
#define TEMPLATE_FDE_OFFSET      20
#define TEMPLATE_PC_BEGIN_OFFSET 28

#elif defined(TEMPLATE_FOR_X86_64) || defined(__x86_64__)

#define TEMPLATE_ELF_MACHINE 62 /* EM_X86_64 */

#define TEMPLATE_CODE      0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3
#define TEMPLATE_CODE_SIZE 8

#define TEMPLATE_EH_FRAME                                                                          \
    0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 0x07, 0x08, 0x90, 1,  \
        0, 0, 0x1c, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0x08, 0, 0, 0, 0, 0x41, 0x0e, 0x10, 0x86,  \
        0x02, 0x43, 0x0d, 0x06, 0x43, 0x0c, 0x07, 0x08, 0xc6, 0, 0
#define TEMPLATE_EH_FRAME_SIZE   56
#define TEMPLATE_FDE_OFFSET      24
#define TEMPLATE_PC_BEGIN_OFFSET 32

#else
#error "trampolines are written for x86-64 and aarch64 only"
#endif

static const uint8_t template_code[TEMPLATE_CODE_SIZE] = {TEMPLATE_CODE};
static const uint8_t template_eh_frame[TEMPLATE_EH_FRAME_SIZE] = {TEMPLATE_EH_FRAME};

#endif
