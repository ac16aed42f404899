/* Functions nested in others: code on the stack, of the first thread and of another. */
#include <pthread.h>
#include <stdio.h>

static int apply(int (*function)(int), int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++)
        sum += function(i);
    return sum;
}

static void *in_thread(void *result)
{
    int term = 5;
    int add(int x)
    {
        return x + term;
    }
    *(int *)result = apply(add, 100);
    return NULL;
}

int main(void)
{
    int factor = 3, result;
    int scale(int x)
    {
        return x * factor;
    }
    pthread_t thread;

    pthread_create(&thread, NULL, in_thread, &result);
    pthread_join(thread, NULL);
    printf("%d %d\n", apply(scale, 1000), result);
    return 0;
}
