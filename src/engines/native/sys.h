/*
 * sys.h: system calls of the engine's own, without libc. Results are the kernel's: negative errno
 * on failure.
 */
#ifndef TRUEFLAME_NATIVE_SYS_H
#define TRUEFLAME_NATIVE_SYS_H

#include <asm/unistd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define SYS_ARGUMENTS(a, b, c, d, e, f, ...)                                                       \
    (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define sys(name, ...)                                                                             \
    sys_call6(__NR_##name, SYS_ARGUMENTS(__VA_ARGS__ __VA_OPT__(, ) 0, 0, 0, 0, 0, 0, 0))

static inline bool sys_failed(long result)
{
    return (unsigned long)result > -4096ul;
}

#endif
