/*
 * A coroutine whose stack is an array in main's own frame.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;leaf *
 *     _start;main;resume *
 *     _start;main;resume;switch_stack 45
 *     body *
 *     body;deeper *
 *     body;deeper;leaf *
 *     body;deeper;switch_stack 30
 *     body;switch_stack 15
 */
#include "freestanding.h"

static struct coroutine of_main, of_body;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(void)
{
    switch_stack(&of_body, &of_main);
    leaf();
    switch_stack(&of_body, &of_main);
    sink++;
}

NOINLINE void body(void)
{
    deeper();
    for (;;)
        switch_stack(&of_body, &of_main);
}

NOINLINE void resume(void)
{
    switch_stack(&of_main, &of_body);
    sink++;
}

int main(void)
{
    char stack[2048];
    prepare_coroutine(&of_body, stack + sizeof stack, body);
    resume();
    leaf();
    resume();
    leaf();
    resume();
    leaf();
    return 0;
}
