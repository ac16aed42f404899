/*
 * trueflame.h: requests that a program can make of the profiler it runs under.
 *
 *     #include <trueflame/trueflame.h>
 *
 *     TRUEFLAME_START();              record from here on (with `trueflame record --start=off`)
 *     work();
 *     TRUEFLAME_STOP();
 *     TRUEFLAME_DUMP("work");         what was recorded becomes a part of the profile, "work"
 *
 * Outside of trueflame a request does nothing, at the cost of a dozen instructions that touch no
 * memory but the stack. Nothing needs to be linked.
 *
 * The same instructions and numbers are understood by Valgrind's callgrind, as far as it has the
 * request, so a program needs only one set of markers.
 *
 * Redistribution and use in source and binary forms, with or without modification, are permitted
 * provided that this notice is retained. THIS SOFTWARE IS PROVIDED "AS IS", WITHOUT ANY EXPRESS OR
 * IMPLIED WARRANTY; IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY DAMAGES ARISING FROM ITS USE.
 */
#ifndef TRUEFLAME_TRUEFLAME_H
#define TRUEFLAME_TRUEFLAME_H

#ifdef __cplusplus
extern "C" {
#endif

enum trueflame_request {
    TRUEFLAME_REQUEST_DUMP = 0x43540000,
    TRUEFLAME_REQUEST_ZERO,
    TRUEFLAME_REQUEST_TOGGLE,
    TRUEFLAME_REQUEST_DUMP_NAMED,
    TRUEFLAME_REQUEST_START,
    TRUEFLAME_REQUEST_STOP,
    TRUEFLAME_REQUEST_SKIP_OBJECT,
    TRUEFLAME_REQUEST_LABEL,
};

/* The request is a sequence that no compiler makes and that changes nothing: rdi turned by 128
 * bits in four steps, then rbx exchanged with itself. rax points to the request and its argument. */
static inline __attribute__((always_inline)) void trueflame_request(enum trueflame_request number,
                                                                    const void *argument)
{
#if defined(__x86_64__) && defined(__linux__)
    volatile unsigned long words[6] = {(unsigned long)number, (unsigned long)argument, 0, 0, 0, 0};
    unsigned long result = 0;

    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
                     "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(&words[0])
                     : "cc", "memory");
#elif defined(__riscv) && __riscv_xlen == 64
    /* Likewise: shifts of x0, then a0 combined with itself. a4 points to the request. */
    volatile unsigned long words[6] = {(unsigned long)number, (unsigned long)argument, 0, 0, 0, 0};
    register unsigned long result __asm__("a3") = 0;
    register volatile unsigned long *request __asm__("a4") = words;

    __asm__ volatile(".option push\n\t.option norvc\n\t"
                     "srli zero, zero, 3\n\tsrli zero, zero, 13\n\t"
                     "srli zero, zero, 51\n\tsrli zero, zero, 61\n\t"
                     "or a0, a0, a0\n\t.option pop"
                     : "+r"(result)
                     : "r"(request)
                     : "memory");
#else
    (void)number;
    (void)argument;
#endif
}

/* Record, or stop recording, from here on; in this process, all threads. */
#define TRUEFLAME_START()  trueflame_request(TRUEFLAME_REQUEST_START, 0)
#define TRUEFLAME_STOP()   trueflame_request(TRUEFLAME_REQUEST_STOP, 0)
#define TRUEFLAME_TOGGLE() trueflame_request(TRUEFLAME_REQUEST_TOGGLE, 0)

/* Forget what was recorded since the last dump. */
#define TRUEFLAME_ZERO() trueflame_request(TRUEFLAME_REQUEST_ZERO, 0)

/* What was recorded since the last dump becomes a part of the profile, called `name`. */
#define TRUEFLAME_DUMP(name) trueflame_request(TRUEFLAME_REQUEST_DUMP_NAMED, (name))

/* Functions of this object (a path; * and ? stand for anything) are not shown: their cost goes to
 * whoever called them. */
#define TRUEFLAME_SKIP_OBJECT(path) trueflame_request(TRUEFLAME_REQUEST_SKIP_OBJECT, (path))

/* A text that goes with the next dump. */
#define TRUEFLAME_LABEL(text) trueflame_request(TRUEFLAME_REQUEST_LABEL, (text))

#ifdef __cplusplus
}
#endif

#endif
