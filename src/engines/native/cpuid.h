/* cpuid.h: the machine's own processor; repeatable.h shows programs another one. */
#ifndef TRUEFLAME_NATIVE_CPUID_H
#define TRUEFLAME_NATIVE_CPUID_H

#include "core/processor.h"

static inline struct processor_answer cpuid(uint32_t leaf, uint32_t part)
{
    struct processor_answer answer;
    __asm__ volatile("cpuid"
                     : "=a"(answer.eax), "=b"(answer.ebx), "=c"(answer.ecx), "=d"(answer.edx)
                     : "a"(leaf), "c"(part));
    return answer;
}

#endif
