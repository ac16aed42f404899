/*
 * longjmp out of one frame, back into the function that is waiting above it.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;set_jump 36
 *     _start;main;thrower *
 *     _start;main;thrower;long_jump 27
 *     _start;main;leaf *
 */
#include "freestanding.h"

static jump_point point;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void thrower(void)
{
    long_jump(point, 1);
}

int main(void)
{
    for (volatile int i = 0; i < 3; i++) {
        if (set_jump(point) == 0)
            thrower();
        leaf(); /* main's, whatever was jumped over */
    }
    return 0;
}
