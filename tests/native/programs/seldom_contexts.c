/* Tens of thousands of contexts that are called once or twice: whose counters are given back at line
 * detail, while they are on the stack and when they are not. Some come back: by direct and indirect
 * calls, by tail calls and by returns, in a child of fork and beside another thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH 15

typedef unsigned step(unsigned depth, unsigned way);

static volatile unsigned sink;
static step left, right;
static step *const steps[] = {left, right};

__attribute__((noinline, noclone)) static unsigned leaf(unsigned depth, unsigned way)
{
    for (unsigned i = 0; i < way % 4; i++)
        sink += depth;
    return sink ^ way;
}

__attribute__((noinline, noclone)) static unsigned left(unsigned depth, unsigned way)
{
    unsigned sum = sink;
    if (!depth)
        return leaf(depth, way);
    sum += steps[way & 1](depth - 1, way >> 1);
    for (unsigned i = 0; i < depth % 3; i++)
        sum += leaf(i, sum);
    sink = sum;
    return sum;
}

__attribute__((noinline, noclone)) static unsigned right(unsigned depth, unsigned way)
{
    if (!depth)
        return leaf(depth, way + 1);
    sink += depth % 2 ? 3 : way % 5;
    unsigned sum = steps[way & 1](depth - 1, way >> 1);
    return leaf(depth, sum + way); /* a tail call */
}

static unsigned walk(unsigned stride)
{
    unsigned sum = 0;
    for (unsigned way = 0; way < 1u << DEPTH; way += stride)
        sum += left(DEPTH, way);
    return sum;
}

static void *walk_in_thread(void *stride)
{
    return (void *)(unsigned long)walk(*(unsigned *)stride);
}

int main(void)
{
    pthread_t thread;
    unsigned strides[] = {7, 11};
    void *sum;
    printf("%u\n", walk(1));
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        printf("%u\n", walk(5));
        exit(0);
    }
    waitpid(child, NULL, 0);
    printf("%u\n", walk(3));
    pthread_create(&thread, NULL, walk_in_thread, &strides[0]);
    pthread_join(thread, &sum);
    printf("%lu %u\n", (unsigned long)sum, walk(strides[1]));
    return 0;
}
