/*
 * Code in mapped memory that has no name: one frame `[anon]` a call, jumps inside it change
 * nothing, and what it calls stands below it.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;make *
 *     _start;main;[anon] 24
 *     _start;main;[anon];callback 9
 *     _start;main;callback 3
 */
#include "freestanding.h"

void callback(void);
__asm__(".type callback, @function\ncallback: nop\nnop\nret\n.size callback, . - callback\n");

typedef void (*entry)(void (*call)(void));

static const unsigned char code[] = {
    0x55,             /* push %rbp              8 instructions a call */
    0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
    0xeb, 0x01,       /* jmp over the next */
    0x90,             /* nop, never run */
    0x90,             /* nop */
    0xff, 0xd7,       /* call *%rdi */
    0x90,             /* nop */
    0x5d,             /* pop %rbp */
    0xc3,             /* ret */
};

NOINLINE entry make(void)
{
    unsigned char *memory = map_memory(4096, MEMORY_READ_WRITE_EXECUTE);
    for (word i = 0; i < sizeof code; i++)
        memory[i] = code[i];
    return (entry)memory;
}

int main(void)
{
    entry function = make();
    for (int i = 0; i < 3; i++)
        function(callback);
    callback();
    return 0;
}
