/*
 * Code that the compiler itself split into hot and cold parts; the cold part calls out and goes
 * back. No path may show it as a function of its own.
 *
 * build: freestanding -O2 -freorder-blocks-and-partition
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;work *
 *     _start;main;work;complain *
 *     _start;main;work;leaf *
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

__attribute__((cold)) NOINLINE void complain(word about)
{
    sink += about;
}

NOINLINE word work(word i)
{
    word result = i * 3;
    if (__builtin_expect(i % 4 == 3, 0)) {
        complain(i);
        sink += result;
        complain(result);
        result = sink;
    }
    leaf();
    return result + sink;
}

int main(void)
{
    for (word i = 0; i < 12; i++)
        sink += work(i);
    return 0;
}
