/*
 * Faults in the middle of code without a jump, which engines cut into blocks as they like, entered
 * at several places, so that blocks overlap. What comes after a fault has not run and does not
 * count, whichever block it was in: of each turn through `walk`, the jump, the nops and the return.
 * From the first nop those are 242, from the 11th 232, from the 101st 142; each twice.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;walk 1232
 *     _start;main;walk;(signal 11);step_over *
 *     _start;main;walk;(signal 11);__restore_rt 96
 */
#include "freestanding.h"

#define UCONTEXT_RIP (168 / 8)

NOINLINE void step_over(int number, void *information, void *context)
{
    unsigned char **pc = (unsigned char **)&((word *)context)[UCONTEXT_RIP];

    (void)number, (void)information;
    *pc += **pc == 0x0f ? 3 : 2; /* `movaps (%rdx), %xmm0`, `add (%rdi), %eax` */
}

void walk(const void *nowhere, const void *entry, const void *not_aligned);
__asm__(".macro stretch\n"
        "    .rept 30\n"
        "    nop\n"
        "    .endr\n"
        "    add (%rdi), %eax\n" /* faults */
        ".endm\n"
        ".type walk, @function\n"
        "walk: jmp *%rsi\n"
        "    stretch\n"
        "    stretch\n"
        "    stretch\n"
        "    stretch\n"
        "    movaps (%rdx), %xmm0\n" /* faults too: engines may see it coming */
        "    stretch\n"
        "    stretch\n"
        "    stretch\n"
        "    stretch\n"
        "    ret\n"
        ".size walk, . - walk\n");

int main(void)
{
    static char room[32] __attribute__((aligned(16)));
    const char *body = (const char *)walk + 2; /* behind the jump */

    handle_signal(SIGSEGV_NUMBER, step_over, 0);
    for (int turn = 0; turn < 2; turn++) {
        walk((void *)8, body, room + 1);
        walk((void *)8, body + 10, room + 1);
        walk((void *)8, body + 100 + 3 * 2, room + 1);
    }
    return 0;
}
