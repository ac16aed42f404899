/*
 * Recursion: every level is a frame, and a function called from two levels has two paths.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;even *
 *     _start;main;even;odd *
 *     _start;main;even;odd;even *
 *     _start;main;even;odd;even;odd *
 *     _start;main;even;odd;even;odd;even *
 *     _start;main;even;odd;even;odd;even;leaf *
 *     _start;main;count *
 *     _start;main;count;count *
 *     _start;main;count;count;count *
 *     _start;main;count;count;count;leaf *
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void odd(int n);

NOINLINE void even(int n)
{
    if (n == 0)
        leaf();
    else
        odd(n - 1);
    sink++; /* not a tail call */
}

NOINLINE void odd(int n)
{
    even(n - 1);
    sink++;
}

NOINLINE void count(int n)
{
    if (n == 1)
        leaf();
    else
        count(n - 1);
    sink++;
}

int main(void)
{
    even(4);
    count(3);
    return 0;
}
