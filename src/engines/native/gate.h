/*
 * gate.h: the few places where the address of an instruction matters to the signal handler.
 */
#ifndef TRUEFLAME_NATIVE_GATE_H
#define TRUEFLAME_NATIVE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sigcontext;
struct ucontext;

/* A system call of the program's. Nothing is called when a signal is held; *begun says whether
 * the call was made: if not, it is to be made again after the handler. */
long gate_call(const uint64_t *registers, bool *begun);

/* Copies from or to the program's memory; false if some of it is not there. */
bool gate_copy(void *to, const void *from, size_t size_bytes);

/* rt_sigprocmask(SIG_SETMASK): the safe point. */
void gate_unblock(const uint64_t *mask);

/* rt_sigreturn from this context. */
_Noreturn void gate_return_from(struct ucontext *context);
void gate_signal_return(void); /* the restorer of the engine's own handlers */

/* For the handler. */
bool gate_is_safe_point(uint64_t pc);
void gate_take_back(struct sigcontext *context); /* if it stands in gate_call before the call */
bool gate_recover(struct sigcontext *context);   /* if it stands in gate_copy */

#endif
