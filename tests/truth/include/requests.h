/*
 * requests.h: the requests of a program to the profiler, for programs of tests/truth.
 */
#ifndef REQUESTS_H
#define REQUESTS_H

#if __has_include("trueflame/trueflame.h")
#include "trueflame/trueflame.h"
#else
__attribute__((always_inline)) static inline void send_request(unsigned long number,
                                                               const char *text)
{
    volatile unsigned long arguments[6] = {0x43540000ul + number, (unsigned long)text};
    unsigned long result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(arguments)
                     : "cc", "memory");
}
#define TRUEFLAME_ZERO()            send_request(1, 0)
#define TRUEFLAME_TOGGLE()          send_request(2, 0)
#define TRUEFLAME_DUMP(name)        send_request(3, name)
#define TRUEFLAME_START()           send_request(4, 0)
#define TRUEFLAME_STOP()            send_request(5, 0)
#define TRUEFLAME_SKIP_OBJECT(path) send_request(6, path)
#define TRUEFLAME_LABEL(text)       send_request(7, text)
#endif

#endif
