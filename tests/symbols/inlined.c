/* inlined.c: the lines and chains of this file are known to test_symbols.c by number. */

static inline __attribute__((always_inline)) int innermost(int x)
{
    return x * x + 7; /* line 5 */
}

static inline __attribute__((always_inline)) int middle(int x)
{
    return innermost(x) ^ 3; /* line 10 */
}

/* Inlined in one place, called in another. */
static inline int both(int x)
{
    return x % 13 + 1; /* line 16 */
}

int __attribute__((noinline)) outermost(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += middle(i); /* line 23 */
    return both(sum);     /* line 24 */
}

int (*volatile pointer_to_both)(int) = both;
