/*
 * A thread that ends deep in its calls, without returning, and another that gets its stack: the
 * second has nothing of the first in its path.
 *
 * build: dynamic -pthread
 * repeatable: no
 * paths:
 *     start_thread;first;deeper;deeper;deeper
 *     start_thread;second;leaf
 * never:
 *     deeper;second
 *     first;second
 *     deeper;leaf
 *     pthread_exit;second
 *     second;first
 */
#include <pthread.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;
static void *first_frame, *second_frame;

NOINLINE void leaf(void)
{
    sink++;
}

NOINLINE void deeper(int depth)
{
    if (depth == 0)
        pthread_exit(NULL);
    deeper(depth - 1);
    sink++;
}

NOINLINE void *first(void *unused)
{
    first_frame = __builtin_frame_address(0);
    deeper(5);
    return unused;
}

NOINLINE void *second(void *unused)
{
    second_frame = __builtin_frame_address(0);
    leaf();
    sink++;
    return unused;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, first, NULL);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, second, NULL);
        pthread_join(thread, NULL);
    }
    puts(first_frame == second_frame ? "same stack" : "another stack");
    return 0;
}
