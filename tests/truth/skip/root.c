/*
 * A skipped root has no caller to give its cost to: it goes to one frame `(skipped)`, and what it
 * called becomes a root. With everything skipped, that frame is all there is.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 8
 *     _start;main;leaf 4
 * tree --skip-function=_start:
 *     (skipped) 5
 *     main 8
 *     main;leaf 4
 * tree --skip-function=_start --skip-function=main:
 *     (skipped) 13
 *     leaf 4
 * tree --skip-function=main:
 *     _start 13
 *     _start;leaf 4
 * tree --skip-function=*:
 *     (skipped) 17
 */
#include "freestanding.h"

void leaf(void);
int main(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n"
        ".globl main\n.type main, @function\n"
        "main: push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    nop\n"
        "    call leaf\n"
        "    call leaf\n"
        "    xor %eax, %eax\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size main, . - main\n");
