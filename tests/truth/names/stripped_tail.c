/*
 * A tail call without symbols: the target is a function because it was called before.
 *
 * build: freestanding
 * stripped: yes
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;target 6
 *     _start;main;jumper 2
 */
#include "freestanding.h"

void target(void);
void jumper(void);
__asm__(".type jumper, @function\njumper: nop\njmp target\n.size jumper, . - jumper\n"
        ".type target, @function\ntarget: nop\nnop\nret\n.size target, . - target\n");

int main(void)
{
    target();
    jumper();
    return 0;
}
