/*
 * Recording is switched on below a frame of anonymous code: that frame is in the path, and code
 * called after it has returned has nothing of it.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;[anon] 2
 *     _start;main;[anon];callback *
 *     _start;main;[anon];callback;leaf 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

static const unsigned char code[] = {
    0x55,             /* push %rbp */
    0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
    0xff, 0xd7,       /* call *%rdi */
    0x5d,             /* pop %rbp: recorded from here */
    0xc3,             /* ret */
};

NOINLINE void callback(void)
{
    leaf();
    TRUEFLAME_START();
    leaf();
    sink++;
}

int main(void)
{
    unsigned char *memory = map_memory(4096, MEMORY_READ_WRITE_EXECUTE);
    for (word i = 0; i < sizeof code; i++)
        memory[i] = code[i];
    ((void (*)(void (*)(void)))memory)(callback);
    leaf();
    return 0;
}
