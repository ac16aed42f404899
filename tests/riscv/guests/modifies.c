/* Writes code, runs it, writes other code to the same place, runs that; tells of it each way there
 * is. A nested function, too, is called by way of code that its caller writes to the stack. */
#include <stdio.h>
#include <sys/mman.h>

__attribute__((noipa)) static int apply(int (*function)(int), int count)
{
    int sum = 0;

    for (int i = 0; i < count; i++)
        sum += function(i);
    return sum;
}

__attribute__((noipa)) static int call_nested(int start)
{
    int add(int value)
    {
        return start++ + value;
    }

    return apply(add, 5) + start;
}

static int run_new(unsigned *code, int value, int way)
{
    code[0] = 0x00000513u | (unsigned)value << 20; /* li a0, value */
    code[1] = 0x00008067;                          /* ret */
    if (way == 0)
        __asm__ volatile("fence.i" ::: "memory");
    else if (way == 1)
        __builtin___clear_cache((char *)code, (char *)(code + 2));
    else
        mprotect(code, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    return ((int (*)(void))code)();
}

int main(void)
{
    unsigned *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (int way = 0; way < 3; way++) {
        int sum = 0;
        for (int i = 0; i < 10; i++)
            sum = sum * 3 + run_new(code, i, way);
        printf("%d %d\n", sum, call_nested(way));
    }
    return 0;
}
