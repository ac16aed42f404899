/*
 * Several skipped functions in a row, a skipped leaf, a skipped function that calls back, and
 * skipping inside a recursion.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main *
 *     _start;main;library_enter *
 *     _start;main;library_enter;library_inner *
 *     _start;main;library_enter;library_inner;callback *
 *     _start;main;library_enter;library_inner;callback;library_leaf 2
 *     _start;main;library_enter;library_inner;callback;own 2
 *     _start;main;recurse *
 *     _start;main;recurse;library_again *
 *     _start;main;recurse;library_again;recurse *
 *     _start;main;recurse;library_again;recurse;own 2
 *     _start;main;own 2
 * tree --skip-function=library_*:
 *     _start 5
 *     _start;main *
 *     _start;main;callback *
 *     _start;main;callback;own 2
 *     _start;main;recurse *
 *     _start;main;recurse;recurse *
 *     _start;main;recurse;recurse;own 2
 *     _start;main;own 2
 * tree --skip-function=recurse --skip-function=library_inner:
 *     _start 5
 *     _start;main *
 *     _start;main;library_enter *
 *     _start;main;library_enter;callback *
 *     _start;main;library_enter;callback;library_leaf 2
 *     _start;main;library_enter;callback;own 2
 *     _start;main;library_again *
 *     _start;main;library_again;own 2
 *     _start;main;own 2
 */
#include "freestanding.h"

void own(void);
void library_leaf(void);
__asm__(".type own, @function\nown: nop\nret\n.size own, . - own\n"
        ".type library_leaf, @function\nlibrary_leaf: nop\nret\n.size library_leaf, . - "
        "library_leaf\n");

NOINLINE void callback(void)
{
    library_leaf();
    own();
    sink++;
}

NOINLINE void library_inner(void)
{
    callback();
    sink++;
}

NOINLINE void library_enter(void)
{
    library_inner();
    sink++;
}

NOINLINE void recurse(int depth);

NOINLINE void library_again(int depth)
{
    recurse(depth - 1);
    sink++;
}

NOINLINE void recurse(int depth)
{
    if (depth)
        library_again(depth);
    else
        own();
    sink++;
}

int main(void)
{
    library_enter();
    recurse(1);
    own();
    return 0;
}
