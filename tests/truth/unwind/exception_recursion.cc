/*
 * An exception through a recursion, caught half way up by the same function: the frames above the
 * catcher are still there when it goes on.
 *
 * build: static
 * record: --start=off
 * paths:
 *     main;recurse;recurse;recurse;recurse;recurse;__cxa_throw
 *     main;recurse;recurse;recurse;__cxa_begin_catch
 *     main;recurse;recurse;recurse;leaf
 *     main;recurse;recurse;leaf
 *     main;recurse;leaf
 *     main;leaf
 * never:
 *     recurse;recurse;recurse;recurse;leaf
 *     recurse;recurse;recurse;recurse;__cxa_begin_catch
 *     recurse;recurse;recurse;recurse;recurse;recurse
 */
#include <trueflame/trueflame.h>

static volatile unsigned long sink;
#define NOINLINE __attribute__((noinline, noclone, noipa))

extern "C" {
NOINLINE void leaf()
{
    sink = sink + 1;
}

NOINLINE void recurse(int depth)
{
    if (depth == 5)
        throw 1;
    if (depth == 3) {
        try {
            recurse(depth + 1);
        } catch (int value) {
            sink = sink + value;
        }
    } else {
        recurse(depth + 1);
    }
    leaf();
    sink = sink + 1;
}
}

int main()
{
    recurse(1);
    TRUEFLAME_START();
    recurse(1);
    leaf();
    TRUEFLAME_STOP();
}
