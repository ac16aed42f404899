/*
 * A compiler's own save and restore routines (-msave-restore): they stand below, or in the place
 * of, the functions they work for, and never between a function and its caller.
 *
 * build: -static -Os -msave-restore -fno-inline -foptimize-sibling-calls
 * paths:
 *     main;outer;middle;leaf
 *     main;outer;__riscv_save_3|__riscv_save_2|__riscv_save_1|__riscv_save_0
 *     main;outer;middle;__riscv_save_3|__riscv_save_2|__riscv_save_1|__riscv_save_0
 *     main;after
 * never:
 *     __riscv_save_0;outer
 *     __riscv_save_3;middle
 *     __riscv_save_0;leaf
 *     outer;outer
 *     middle;after
 *     outer;after
 */
static volatile long sink;

__attribute__((noinline)) long leaf(long a, long b)
{
    sink += a * b;
    return sink;
}

__attribute__((noinline)) long middle(long a, long b, long c)
{
    long first = leaf(a, b), second = leaf(b, c), third = leaf(c, a);
    return first + second * third + a + b;
}

__attribute__((noinline)) long outer(long a)
{
    long first = middle(a, a + 1, a + 2);
    long second = middle(a + 3, first, a);
    return first ^ second ^ a;
}

__attribute__((noinline)) void after(void)
{
    sink++;
}

int main(void)
{
    for (long i = 0; i < 3; i++) {
        sink += outer(i);
        after();
    }
    return 0;
}
