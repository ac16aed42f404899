/*
 * repeatable.h: --repeatable: what differs from run to run, or from machine to machine, and is fixed.
 *
 *   cpuid, xgetbv      a processor of the x86-64-v3 level, the same everywhere; a machine that has
 *                      less is refused
 *   rdtsc, the clocks  go on by a fixed step each time they are asked, and by what is slept; so
 *                      deadlines are moved to the kernel's clock before it sees them
 *   getrandom, AT_RANDOM  one sequence
 *   vdso               not there: its loops depend on the time of day
 *
 * Which of two threads goes first is not fixed, nor pids, nor what files and the network say.
 */
#ifndef TRUEFLAME_NATIVE_REPEATABLE_H
#define TRUEFLAME_NATIVE_REPEATABLE_H

#include "engines/native/decode.h"
#include "engines/native/thread.h"
#include <elf.h>

/* Refuses machines that have less than what programs are shown. */
void repeatable_init(void);

/* Is the instruction one that is done here? */
bool repeatable_wants(const struct instruction *instruction);

/* Does the one at `pc`; the program's registers are the thread's. */
void repeatable_emulate(struct native_thread *thread, uint64_t pc);

/* Changes the rows of the auxiliary vector that say what machine it is. */
void repeatable_auxiliary(Elf64_auxv_t *row);
void repeatable_random(uint8_t *bytes, uint64_t size);

/* System calls; without the option they are passed on. */
long repeatable_call_clock_gettime(struct native_thread *thread);
long repeatable_call_gettimeofday(struct native_thread *thread);
long repeatable_call_time(struct native_thread *thread);
long repeatable_call_clock_nanosleep(struct native_thread *thread);
long repeatable_call_nanosleep(struct native_thread *thread);
long repeatable_call_futex(struct native_thread *thread);
long repeatable_call_getrandom(struct native_thread *thread);

#endif
