/*
 * DUMP ends a part and gives it a name; each part has its own counts, and together they are the
 * whole.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;first 6
 *     _start;main;second 4
 * paths --part=one:
 *     _start;main;first
 * never --part=one:
 *     second
 * paths --part=two:
 *     _start;main;first
 *     _start;main;second
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void first(void);
void second(void);
__asm__(".type first, @function\nfirst: nop\nret\n.size first, . - first\n"
        ".type second, @function\nsecond: nop\nret\n.size second, . - second\n");

int main(void)
{
    first();
    TRUEFLAME_DUMP("one");
    first();
    second();
    TRUEFLAME_LABEL("the second of two");
    TRUEFLAME_DUMP("two");
    first();
    second();
    return 0;
}
