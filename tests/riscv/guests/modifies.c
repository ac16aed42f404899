/* Writes code, runs it, writes other code to the same place, runs that. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    unsigned *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;

    for (int i = 0; i < 10; i++) {
        code[0] = 0x00000513u | (unsigned)i << 20; /* li a0, i */
        code[1] = 0x00008067;                      /* ret */
        __builtin___clear_cache((char *)code, (char *)(code + 2));
        __asm__ volatile("fence.i" ::: "memory");
        sum = sum * 3 + ((int (*)(void))code)();
    }
    printf("%d\n", sum);
    return sum == 44281 ? 0 : 1;
}
