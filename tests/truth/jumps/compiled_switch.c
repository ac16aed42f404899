/*
 * A switch dense enough for the compiler to make a jump table of it.
 *
 * build: freestanding -O2 -fno-tree-switch-conversion
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;choose *
 *     _start;main;choose;leaf *
 */
#include "freestanding.h"

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE int choose(int which)
{
    switch (which) {
    case 0:
        sink += 3;
        return 1;
    case 1:
        leaf();
        return 5;
    case 2:
        sink *= 7;
        return 12;
    case 3:
        leaf();
        leaf();
        return 3;
    case 4:
        sink ^= 99;
        return 77;
    case 5:
        sink -= 4;
        return 8;
    }
    return 0;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += choose(i);
    return sum; /* 106 */
}
