/*
 * changing_code.c: code that is written while the program runs: in memory that is writable and
 * executable at once, in memory that is flipped, through a second mapping, moved by mremap, and
 * mapped anew at an old address.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void put(unsigned char *at, int value)
{
    unsigned char code[6] = {0xb8, value, value >> 8, 0, 0, 0xc3}; /* mov eax, value; ret */
    memcpy(at, code, sizeof code);
}

static int call(void *code)
{
    return ((int (*)(void))code)();
}

static unsigned char *map(int protection, int flags, int file)
{
    return mmap(NULL, 4096, protection, flags, file, 0);
}

int main(void)
{
    const int private = MAP_PRIVATE | MAP_ANONYMOUS, write = PROT_READ | PROT_WRITE,
              execute = PROT_READ | PROT_EXEC;
    long sum = 0;
    unsigned char *both = map(write | PROT_EXEC, private, -1);
    for (int i = 0; i < 1000; i++) {
        put(both, i);
        sum += call(both) + call(both);
    }
    printf("writable %ld\n", sum);
    unsigned char *flipped = map(write, private, -1);
    sum = 0;
    for (int i = 0; i < 300; i++) {
        mprotect(flipped, 4096, write);
        put(flipped, i);
        mprotect(flipped, 4096, execute);
        sum += call(flipped);
    }
    printf("flipped %ld\n", sum);
    int file = memfd_create("code", 0);
    if (ftruncate(file, 4096))
        return 2;
    unsigned char *one = map(write, MAP_SHARED, file), *two = map(execute, MAP_SHARED, file);
    sum = 0;
    for (int i = 0; i < 300; i++) {
        put(one, i);
        sum += call(two);
    }
    printf("twice %ld\n", sum);
    unsigned char *moved = mremap(flipped, 4096, 8192, MREMAP_MAYMOVE);
    printf("moved %d\n", call(moved));
    for (int i = 0; i < 50; i++) {
        moved = mmap(moved, 4096, write, private | MAP_FIXED, -1, 0);
        put(moved, i);
        mprotect(moved, 4096, execute);
        sum += call(moved);
    }
    printf("anew %ld\n", sum);
    return 0;
}
