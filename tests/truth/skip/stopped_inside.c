/*
 * Recording goes off inside one skipped function and on again inside another, at another depth.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;library_off *
 *     _start;main;wrapper *
 *     _start;main;wrapper;library_on *
 *     _start;main;wrapper;leaf 2
 *     _start;main;leaf 2
 * tree --skip-function=library_*:
 *     _start 5
 *     _start;main *
 *     _start;main;wrapper *
 *     _start;main;wrapper;leaf 2
 *     _start;main;leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void library_off(void)
{
    sink++;
    TRUEFLAME_STOP();
    leaf();
}

NOINLINE void library_on(void)
{
    leaf();
    TRUEFLAME_START();
    sink++;
}

NOINLINE void wrapper(void)
{
    leaf();
    library_on();
    leaf();
    sink++;
}

int main(void)
{
    library_off();
    leaf();
    wrapper();
    leaf();
    return 0;
}
