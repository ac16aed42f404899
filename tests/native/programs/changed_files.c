/*
 * changed_files.c: code of a file that changes in memory: made writable and written, by mprotect and
 * by pkey_mprotect; mapped to be written and executed; given back, so that the file's is there
 * again; and mapped twice, to be written and to be executed.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITABLE = PROT_READ | PROT_WRITE, EXECUTABLE = PROT_READ | PROT_EXEC };

static void put(unsigned char *at, int value)
{
    unsigned char code[6] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
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

static int new_file(void)
{
    int file = memfd_create("code", 0);
    unsigned char code[6];
    put(code, 1);
    return pwrite(file, code, 6, 0) == 6 && !ftruncate(file, 4096) ? file : -1;
}

/* Executed before, so that it is known, and after. */
static void change_by(const char *name, long call_number)
{
    unsigned char *code = map(EXECUTABLE, MAP_PRIVATE, new_file());
    int before = call(code);
    syscall(call_number, code, 4096, WRITABLE, -1);
    put(code, 2);
    syscall(call_number, code, 4096, EXECUTABLE, -1);
    int between = call(code);
    syscall(call_number, code, 4096, WRITABLE | PROT_EXEC, -1);
    put(code, 3);
    int after = call(code);
    put(code, 4);
    printf("%s: %d %d %d %d\n", name, before, between, after, call(code));
    syscall(call_number, code, 4096, EXECUTABLE, -1);
    madvise(code, 4096, MADV_DONTNEED);
    printf("given back: %d\n", call(code));
}

int main(void)
{
    change_by("mprotect", SYS_mprotect);
    change_by("pkey_mprotect", SYS_pkey_mprotect);
    int file = new_file(), sum = 0;
    unsigned char *both = map(WRITABLE | PROT_EXEC, MAP_PRIVATE, file);
    for (int i = 0; i < 100; i++) {
        sum += call(both);
        put(both, i);
    }
    printf("both %d\n", sum);
    unsigned char *one = map(WRITABLE, MAP_SHARED, file), *two = map(EXECUTABLE, MAP_SHARED, file);
    for (int i = 0; i < 100; i++) {
        sum += call(two);
        put(one, i);
    }
    printf("twice %d\n", sum);
    return 0;
}
