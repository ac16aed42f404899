/*
 * shared_memory.c: System V shared memory, at places of the kernel's and of the program's choice,
 * with code in it, cut in two, and given back; other memory goes around it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

enum { BYTES = 1 << 20 };

static void put(char *at, int value)
{
    char code[6] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
    memcpy(at, code, sizeof code);
}

static int call(void *code)
{
    return ((int (*)(void))code)();
}

static char *map(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    int segment = shmget(IPC_PRIVATE, BYTES, 0700 | IPC_CREAT), sum = 0;
    char *place = map(4 * BYTES);
    munmap(place, 4 * BYTES);
    char *data = shmat(segment, place, 0), *code = shmat(segment, NULL, SHM_RDONLY | SHM_EXEC);
    shmctl(segment, IPC_RMID, NULL);
    printf("%d\n", data == place && code != (char *)-1);
    for (int i = 0; i < 100; i++) {
        put(data, i);
        sum += call(code);
        map(65536)[i] = 1;
    }
    mprotect(code + 4096, 4096, PROT_READ);
    printf("%d %d\n", sum, shmdt(code));
    char *other = mmap(code, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    put(other, 7);
    printf("%d %d %d\n", other == code, call(other), data[1]);
    return 0;
}
