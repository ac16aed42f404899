/* shape.c: compiled twice, with INLINED as always_inline and as noinline; the call paths must be
 * the same. `leaf` is never inlined: it hangs under the inlined function that calls it. */
#define STATIC static __attribute__((INLINED))

volatile int sink;

static __attribute__((noinline)) int leaf(int x)
{
    sink = x;
    return x + sink;
}

STATIC int inner(int x)
{
    int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += leaf(x + i) ^ i;
    sink = sum;
    return sum;
}

STATIC int middle(int x)
{
    sink = x * 3;
    int first = inner(x);
    sink = first;
    return first + leaf(first);
}

STATIC int alone(int x)
{
    sink = x;
    sink = x + 1;
    return sink;
}

int __attribute__((noinline)) outer(int x)
{
    sink = x;
    int sum = middle(x);
    sink = sum;
    sum += alone(sum);
    sink = sum;
    return sum + inner(sum);
}

int main(void)
{
    return outer(5) & 1;
}
