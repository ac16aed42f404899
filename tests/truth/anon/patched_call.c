/*
 * A program changes where a call that it has made leads, as compilers of running programs do once
 * they know better, and back: each call is of what it leads to at that time, on every path.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;make *
 *     _start;main;lead *
 *     _start;main;first *
 *     _start;main;first;[anon] 45
 *     _start;main;first;[anon];one 12
 *     _start;main;first;[anon];two 12
 *     _start;main;second *
 *     _start;main;second;[anon] 30
 *     _start;main;second;[anon];one 6
 *     _start;main;second;[anon];two 12
 */
#include "freestanding.h"

static const unsigned char code[] = {
    0x55,                   /* push %rbp */
    0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
    0xe8, 0,    0,    0, 0, /* call something within reach */
    0x5d,                   /* pop %rbp */
    0xc3,                   /* ret */
};
#define DISTANCE 5 /* where the code has it, from its own end on */

void one(void);
void two(void);
__asm__(".type one, @function\none: nop\nret\n.size one, . - one\n"
        ".type two, @function\ntwo: nop\nnop\nnop\nret\n.size two, . - two\n");

NOINLINE unsigned char *make(void)
{
    const word place = ((word)one & ~(word)0xfffff) + 0x8000000;
    unsigned char *memory = (unsigned char *)system_call(
        SYS_mmap, place, 4096, MEMORY_READ_WRITE_EXECUTE, 0x22, (word)-1, 0);
    for (word i = 0; i < sizeof code; i++)
        memory[i] = code[i];
    return memory;
}

NOINLINE void lead(unsigned char *memory, void (*target)(void))
{
    unsigned char *distance = memory + DISTANCE;
    *(volatile int *)distance = (word)target - (word)(distance + 4);
}

NOINLINE void first(void (*call)(void))
{
    for (int i = 0; i < 3; i++) {
        call();
        __asm__ volatile("");
    }
}

NOINLINE void second(void (*call)(void))
{
    for (int i = 0; i < 3; i++) {
        call();
        __asm__ volatile("");
    }
}

int main(void)
{
    unsigned char *memory = make();
    void (*call)(void) = (void (*)(void))memory;
    lead(memory, one);
    first(call);
    lead(memory, two);
    second(call);
    first(call);
    lead(memory, one);
    second(call);
    first(call);
    return 0;
}
