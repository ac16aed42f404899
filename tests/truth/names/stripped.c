/*
 * A program without symbols: its functions are those that were called, each known by its address.
 *
 * build: freestanding
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;outer *
 *     _start;main;outer;leaf *
 *     _start;main;outer;other *
 *     _start;main;leaf *
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void other(void)
{
    sink += 2;
}

NOINLINE void outer(void (*function)(void))
{
    leaf();
    function();
    function();
    sink++;
}

int main(void)
{
    outer(other);
    outer(leaf);
    leaf();
    return 0;
}
