/*
 * A fault that nobody handles, amid code without a jump: the program dies of it, and what would
 * have come after it has not run. Of `walk`, the first time all six, the second time three.
 *
 * build: freestanding
 * tree:
 *     _start 2
 *     _start;main *
 *     _start;main;walk 9
 */
#include "freestanding.h"

void walk(void *place, void *room);
__asm__(".type walk, @function\n"
        "walk: mov (%rsi), %eax\n"
        "    add %eax, 8(%rsi)\n"
        "    inc %eax\n"
        "    mov %eax, (%rdi)\n"
        "    add %eax, 4(%rsi)\n"
        "    ret\n"
        ".size walk, . - walk\n");

int main(void)
{
    static char room[32] __attribute__((aligned(16)));

    walk(room, room);
    walk((void *)16, room);
    return 0;
}
