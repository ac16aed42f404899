/*
 * code_come_and_gone.c: threads that map memory, put code there, call it and unmap it again, so that
 * one gets the place that another has just given back. No two have the same code there.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 4, ROUNDS = 5000, PAGE = 4096 };

static long run(unsigned constant)
{
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, constant; ret */
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memcpy(code + 1, &constant, sizeof constant);
    memcpy(page, code, sizeof code);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    long result = ((unsigned (*)(void))page)();
    munmap(page, PAGE);
    return result;
}

static void *work(void *first)
{
    long wrong = 0;
    for (long i = 0; i < ROUNDS; i++)
        wrong += run((long)first + i) != (long)first + i;
    return (void *)wrong;
}

int main(void)
{
    pthread_t threads[THREADS];
    long wrong = 0;

    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i * ROUNDS));
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (long)result;
    }
    printf("%ld of %d wrong\n", wrong, THREADS * ROUNDS);
    return 0;
}
