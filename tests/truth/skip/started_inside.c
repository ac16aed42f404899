/*
 * Recording is switched on inside a skipped function, five skipped calls deep: its returns give
 * their cost to main, which is there although nothing of it was recorded when it called.
 *
 * build: freestanding
 * record: --start=off
 * tree:
 *     _start 3
 *     _start;main *
 *     _start;main;library_deep *
 *     _start;main;library_deep;library_deep *
 *     _start;main;library_deep;library_deep;library_deep *
 *     _start;main;library_deep;library_deep;library_deep;library_deep *
 *     _start;main;library_deep;library_deep;library_deep;library_deep;library_deep *
 *     _start;main;library_deep;library_deep;library_deep;library_deep;library_deep;callback 2
 *     _start;main;leaf 2
 * tree --skip-function=library_*:
 *     _start 3
 *     _start;main *
 *     _start;main;callback 2
 *     _start;main;leaf 2
 * tree --skip-function=library_* --skip-function=main:
 *     _start *
 *     _start;callback 2
 *     _start;leaf 2
 * tree --skip-function=library_* --skip-function=main --skip-function=_start:
 *     (skipped) *
 *     callback 2
 *     leaf 2
 */
#include "freestanding.h"
#include <trueflame/trueflame.h>

void leaf(void);
void callback(void);
__asm__(".type leaf, @function\nleaf: nop\nret\n.size leaf, . - leaf\n"
        ".type callback, @function\ncallback: nop\nret\n.size callback, . - callback\n");

NOINLINE void library_deep(int depth)
{
    if (depth == 0) {
        TRUEFLAME_START();
        callback();
    } else {
        library_deep(depth - 1);
    }
    sink++;
}

int main(void)
{
    leaf();
    library_deep(4);
    leaf();
    return 0;
}
