/*
 * changing_code.c: code that is written while the program runs: in memory that is writable and
 * executable at once, by others and by the instruction before, in memory that is flipped, through a
 * second mapping, moved by mremap, mapped anew at an old address, and written as a file, where the
 * program may not write.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
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

/* Returns the low byte of its argument, which it has written into its own next instruction. */
static int call_itself(void *code, int value)
{
    return ((int (*)(int))code)(value);
}

static long change_themselves(unsigned char *at)
{
    static const unsigned char by_place[] = {0x40, 0x88, 0x3d, 1, 0, 0,
                                             0,                             /* mov [rip + 1], dil */
                                             0xb8, 0,    0,    0, 0, 0xc3}; /* mov eax, 0; ret */
    static const unsigned char by_register[] = {0x48, 0x8d, 0x05, 4, 0, 0,
                                                0,                   /* lea rax, [rip + 4] */
                                                0x40, 0x88, 0x78, 1, /* mov [rax + 1], dil */
                                                0xb8, 0,    0,    0, 0, 0xc3};
    static const unsigned char by_string[] = {0x40, 0x89, 0xf8, /* mov eax, edi */
                                              0x48, 0x8d, 0x3d, 2, 0, 0,
                                              0,    /* lea rdi, [rip + 2] */
                                              0xaa, /* stosb */
                                              0xb8, 0,    0,    0, 0, 0xc3};
    long sum = 0;
    memcpy(at, by_place, sizeof by_place);
    memcpy(at + 64, by_register, sizeof by_register);
    memcpy(at + 128, by_string, sizeof by_string);
    for (int i = 0; i < 300; i++)
        sum += call_itself(at, i) + 7 * call_itself(at + 64, i + 1) +
               11 * call_itself(at + 128, i + 2);
    return sum;
}

/* Code of the program's own file, alone in its page. */
static int __attribute__((noinline, aligned(4096))) written_over(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop");
    return 1;
}

static long change_as_a_file(unsigned char *code)
{
    unsigned char bytes[6];
    long sum = 0;
    int memory = open("/proc/self/mem", O_RDWR);
    for (int i = 0; i < 100; i++) {
        put(bytes, i);
        if (pwrite(memory, bytes, sizeof bytes, (off_t)(uintptr_t)code) != sizeof bytes)
            return -1;
        lseek(memory, (off_t)(uintptr_t)written_over, SEEK_SET);
        if (write(memory, bytes, sizeof bytes) != sizeof bytes)
            return -2;
        sum += call(code) + 3 * written_over();
    }
    close(memory);
    return sum;
}

int main(void)
{
    const int private = MAP_PRIVATE | MAP_ANONYMOUS, writable = PROT_READ | PROT_WRITE,
              execute = PROT_READ | PROT_EXEC;
    long sum = 0;
    unsigned char *both = map(writable | PROT_EXEC, private, -1);
    for (int i = 0; i < 1000; i++) {
        put(both, i);
        sum += call(both) + call(both);
    }
    printf("writable %ld\n", sum);
    printf("by themselves %ld\n", change_themselves(both + 1024));
    unsigned char *flipped = map(writable, private, -1);
    sum = 0;
    for (int i = 0; i < 300; i++) {
        mprotect(flipped, 4096, writable);
        put(flipped, i);
        mprotect(flipped, 4096, execute);
        sum += call(flipped);
    }
    printf("flipped %ld\n", sum);
    int file = memfd_create("code", 0);
    if (ftruncate(file, 4096))
        return 2;
    unsigned char *one = map(writable, MAP_SHARED, file), *two = map(execute, MAP_SHARED, file);
    sum = 0;
    for (int i = 0; i < 300; i++) {
        put(one, i);
        sum += call(two);
    }
    printf("twice %ld\n", sum);
    unsigned char *moved = mremap(flipped, 4096, 8192, MREMAP_MAYMOVE);
    printf("moved %d\n", call(moved));
    for (int i = 0; i < 50; i++) {
        moved = mmap(moved, 4096, writable, private | MAP_FIXED, -1, 0);
        put(moved, i);
        mprotect(moved, 4096, execute);
        sum += call(moved);
    }
    printf("anew %ld\n", sum);
    printf("as a file %ld\n", change_as_a_file(moved));
    return 0;
}
