/*
 * Anonymous code that is jumped to replaces the frame of whoever jumped, and is replaced when it
 * jumps on to a function with a name. A call from anonymous code to anonymous code is a call.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;make *
 *     _start;main;jumper 2
 *     _start;main;[anon] 6
 *     _start;main;[anon];[anon] 4
 *     _start;main;target 3
 *     _start;main;leaf 2
 */
#include "freestanding.h"

static const unsigned char code[] = {
    0x55,                         /* push %rbp */
    0x48, 0x89, 0xe5,             /* mov %rsp,%rbp */
    0xe8, 0x04, 0x00, 0x00, 0x00, /* call the last four instructions */
    0x90,                         /* nop */
    0x5d,                         /* pop %rbp */
    0xff, 0xe7,                   /* jmp *%rdi */
    0x55,                         /* push %rbp: the callee */
    0x48, 0x89, 0xe5,             /* mov %rsp,%rbp */
    0x5d,                         /* pop %rbp */
    0xc3,                         /* ret */
};

void jumper(void (*target)(void), void *memory);
void target(void);
void leaf(void);
__asm__(".type jumper, @function\njumper: nop\njmp *%rsi\n.size jumper, . - jumper\n"
        ".type target, @function\ntarget: nop\nnop\nret\n.size target, . - target\n"
        ".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void *make(void)
{
    unsigned char *memory = map_memory(4096, MEMORY_READ_WRITE_EXECUTE);
    for (word i = 0; i < sizeof code; i++)
        memory[i] = code[i];
    return memory;
}

int main(void)
{
    void *memory = make();
    jumper(target, memory);
    leaf();
    return 0;
}
