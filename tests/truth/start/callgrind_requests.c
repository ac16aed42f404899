/*
 * A program built for callgrind, unmodified: its requests mean the same here.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start;main *
 *     _start;main;work *
 *     _start;main;work;leaf 6
 */
#include "freestanding.h"
#include <valgrind/callgrind.h>

void leaf(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n");

NOINLINE void work(void)
{
    leaf();
    sink++;
}

int main(void)
{
    work();
    CALLGRIND_START_INSTRUMENTATION;
    work();
    CALLGRIND_ZERO_STATS;
    work(); /* 1 */
    CALLGRIND_TOGGLE_COLLECT;
    work();
    CALLGRIND_TOGGLE_COLLECT;
    work(); /* 2 */
    CALLGRIND_DUMP_STATS_AT("part");
    work(); /* 3 */
    CALLGRIND_STOP_INSTRUMENTATION;
    work();
    return 0;
}
