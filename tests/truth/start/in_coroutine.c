/*
 * On and off while stacks are switched: the stacks are watched, recorded or not.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start;main *
 *     _start;main;leaf 2
 *     _start;main;switch_stack 15
 *     body *
 *     body;deeper *
 *     body;deeper;leaf 2
 *     body;deeper;switch_stack 15
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

static struct coroutine of_main, of_body;
static char stack[4096];

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void deeper(void)
{
    switch_stack(&of_body, &of_main); /* unrecorded */
    leaf();                           /* recorded from main on */
    switch_stack(&of_body, &of_main);
    sink++;
}

NOINLINE void body(void)
{
    deeper();
    TRUEFLAME_START();
    sink++;
    TRUEFLAME_STOP();
    for (;;)
        switch_stack(&of_body, &of_main);
}

int main(void)
{
    prepare_coroutine(&of_body, stack + sizeof stack, body);
    switch_stack(&of_main, &of_body);
    TRUEFLAME_START();
    switch_stack(&of_main, &of_body);
    leaf();
    TRUEFLAME_STOP();
    switch_stack(&of_main, &of_body);
    return 0;
}
