/*
 * processor.h: the processor that programs are shown with --repeatable, the same on every machine
 * that has what it has, and under every engine: the x86-64-v3 level, with caches of a fixed size.
 * libc chooses its string functions, and from which size on they do what, by this alone.
 */
#ifndef TRUEFLAME_PROCESSOR_H
#define TRUEFLAME_PROCESSOR_H

#include <stdint.h>

/* What cpuid leaves in eax, ebx, ecx and edx. */
struct processor_answer {
    uint32_t eax, ebx, ecx, edx;
};

/* cpuid with `leaf` in eax and `part` in ecx. */
struct processor_answer processor_ask(uint32_t leaf, uint32_t part);

/* xgetbv: x87, SSE and AVX state; no more is there to be saved. */
#define PROCESSOR_STATE 7

/* AT_HWCAP and AT_MINSIGSTKSZ of the auxiliary vector. */
#define PROCESSOR_HWCAP             0x078bfbffu
#define PROCESSOR_SIGNAL_ROOM_BYTES 4096

/* Does a machine whose leaves 1, 7 and 0x80000001 are these have at least as much? */
int processor_has_less(struct processor_answer first, struct processor_answer seventh,
                       struct processor_answer extended);

#endif
