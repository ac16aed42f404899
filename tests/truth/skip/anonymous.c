/*
 * `--skip-anon` makes anonymous code transparent, also where recording began below it.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;[anon] 9
 *     _start;main;[anon];callback *
 *     _start;main;[anon];callback;leaf 4
 *     _start;main;leaf 2
 * tree --skip-anon:
 *     _start 3
 *     _start;main *
 *     _start;main;callback *
 *     _start;main;callback;leaf 4
 *     _start;main;leaf 2
 * tree --skip-function=callback:
 *     _start 3
 *     _start;main *
 *     _start;main;[anon] *
 *     _start;main;[anon];leaf 4
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

static const unsigned char code[] = {
    0x55,             /* push %rbp              6 instructions a call */
    0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
    0xff, 0xd7,       /* call *%rdi */
    0x90,             /* nop: recorded from here the first time */
    0x5d,             /* pop %rbp */
    0xc3,             /* ret */
};

NOINLINE void callback(void)
{
    TRUEFLAME_START();
    leaf();
    sink++;
}

int main(void)
{
    unsigned char *memory = map_memory(4096, MEMORY_READ_WRITE_EXECUTE);
    for (word i = 0; i < sizeof code; i++)
        memory[i] = code[i];
    for (int i = 0; i < 2; i++)
        ((void (*)(void (*)(void)))memory)(callback);
    leaf();
    return 0;
}
