/*
 * repeatable.h: --repeatable: what differs from run to run, or from machine to machine, and is fixed.
 *
 *   cpuid, xgetbv      one processor everywhere (core/processor.h); a machine that has less is
 *                      refused. Of the state of registers that it has not, nothing is saved
 *   addresses          places.h
 *   rdtsc, the clocks  go on by a fixed step each time they are asked, and by what is slept; so
 *                      deadlines are moved to the kernel's clock before it sees them. Where there
 *                      are threads they go on by a nanosecond an instruction too, and waits on
 *                      futexes and sleeps end by them alone
 *   getrandom, AT_RANDOM  one sequence
 *   vdso               not there: its loops depend on the time of day
 *
 *   threads            take turns in order: order.h
 *
 * Pids are not fixed, nor what files and the network say.
 */
#ifndef TRUEFLAME_NATIVE_REPEATABLE_H
#define TRUEFLAME_NATIVE_REPEATABLE_H

#include "engines/x86_64/decode.h"
#include "engines/native/thread.h"

/* Refuses machines that have less than what programs are shown. */
void repeatable_init(void);

/* Is the instruction one that is done here? */
bool repeatable_wants(const struct instruction *instruction);

/* Must xsave and its like be kept from what the program does not know of? libc asks for more state
 * than there is, and has room for what cpuid says. */
bool repeatable_limits_state(const struct instruction *instruction);

/* What repeatable_emulate has to know of one: its code may be gone by then. */
uint32_t repeatable_keep(const struct instruction *instruction);

/* Does it; the program's registers are the thread's. */
void repeatable_emulate(struct native_thread *thread, uint32_t kept);

void repeatable_random(uint8_t *bytes, uint64_t size);

/* The program's time: so much has passed, in nanoseconds; so much more does. */
uint64_t repeatable_elapsed(void);
void repeatable_pass(uint64_t nanoseconds);

/* System calls; without the option they are passed on. */
long repeatable_call_clock_gettime(struct native_thread *thread);
long repeatable_call_gettimeofday(struct native_thread *thread);
long repeatable_call_time(struct native_thread *thread);
long repeatable_call_clock_nanosleep(struct native_thread *thread);
long repeatable_call_nanosleep(struct native_thread *thread);
long repeatable_call_pselect(struct native_thread *thread);
long repeatable_call_events(struct native_thread *thread); /* those of fixed_limit_of */
long repeatable_call_futex(struct native_thread *thread);
long repeatable_call_getrandom(struct native_thread *thread);

#endif
