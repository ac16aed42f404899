/*
 * alignment.c: code that runs while the processor checks alignment (AC), as it does for a moment when
 * a Java machine looks which processor it has. What an engine adds must be aligned too.
 */
#include <stdint.h>
#include <stdio.h>

#define AC 0x40000ul

static inline void flip_checks(void)
{
    __asm__ volatile("pushfq\n\txorq %0, (%%rsp)\n\tpopfq" : : "r"(AC) : "memory", "cc");
}

__attribute__((noinline)) static uint64_t leaf(uint64_t a)
{
    __asm__ volatile("");
    return a * 3 + 1;
}

__attribute__((noinline)) static uint64_t calls(uint64_t a)
{
    return leaf(a) + leaf(a + 1);
}

__attribute__((noinline)) static uint64_t turns(uint64_t depth)
{
    return depth ? turns(depth - 1) + leaf(depth) : calls(depth);
}

__attribute__((noinline)) static uint64_t tail(uint64_t a)
{
    return calls(a ^ 5);
}

/* Registers that engines like to borrow. */
__attribute__((noinline)) static uint64_t vectors(uint64_t a)
{
    __asm__ volatile("movq %0, %%xmm13\n\tmovq %%xmm13, %%xmm14\n\tpaddq %%xmm14, %%xmm14\n\t"
                     "movq %%xmm14, %%xmm15\n\tmovq %%xmm15, %0"
                     : "+r"(a)
                     :
                     : "xmm13", "xmm14", "xmm15");
    return a;
}

static uint64_t (*volatile functions[])(uint64_t) = {leaf, calls, turns, tail, vectors};

int main(void)
{
    uint64_t sum = 0;
    flip_checks();
    for (uint64_t i = 0; i < 5000; i++) {
        sum += calls(i) + turns(i % 7) + vectors(i);
        sum += functions[i % (sizeof functions / sizeof *functions)](i % 11);
    }
    flip_checks();
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
