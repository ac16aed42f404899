/*
 * A coroutine that one thread leaves in the middle and another goes on with: its path is its own,
 * whoever runs it.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;switch_stack 30
 *     _start;main;spawn_thread 9
 *     spawn_thread 7
 *     spawn_thread;worker *
 *     spawn_thread;worker;switch_stack 15
 *     body *
 *     body;deeper *
 *     body;deeper;leaf *
 *     body;deeper;switch_stack 30
 *     body;switch_stack 15
 */
#include "freestanding.h"

static struct coroutine of_runner, of_worker, of_body, *runner;
static char thread_stack[4096], stack[4096];
static int ends[2];

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(void)
{
    leaf();
    switch_stack(&of_body, runner);
    leaf();
    switch_stack(&of_body, runner);
    leaf();
    sink++;
}

NOINLINE void body(void)
{
    deeper();
    for (;;)
        switch_stack(&of_body, runner);
}

NOINLINE void worker(void)
{
    runner = &of_worker;
    switch_stack(&of_worker, &of_body);
    runner = &of_runner;
    CALL3(SYS_write, ends[1], "x", 1);
}

int main(void)
{
    char byte;
    CALL1(SYS_pipe, ends);
    prepare_coroutine(&of_body, stack + sizeof stack, body);
    runner = &of_runner;
    switch_stack(&of_runner, &of_body);
    spawn_thread(worker, thread_stack + sizeof thread_stack);
    CALL3(SYS_read, ends[0], &byte, 1);
    word time[2] = {0, 300000000}; /* until the thread has ended */
    CALL2(35 /* nanosleep */, time, 0);
    switch_stack(&of_runner, &of_body);
    return 0;
}
