/*
 * code_looked_ahead.c: code with a branch that is never taken, to where another thread maps memory, puts
 * code there and unmaps it again, all the time. An engine that looks ahead finds something there, or
 * nothing, or something that is gone while it looks.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ROUNDS = 5000, PAGE = 4096 };

static char *const ahead = (char *)0x10000000000;
static volatile int over;

static void map_writable(char *page)
{
    mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *comes_and_goes(void *unused)
{
    while (!over) {
        map_writable(ahead);
        memset(ahead, 0x90, PAGE);
        ahead[PAGE - 1] = 0xc3;
        mprotect(ahead, PAGE, PROT_READ | PROT_EXEC);
        munmap(ahead, PAGE);
    }
    return unused;
}

static int run(char *page)
{
    /* xor eax, eax; test eax, eax; je over; call ahead; over: ret */
    unsigned char code[] = {0x31, 0xc0, 0x85, 0xc0, 0x74, 5, 0xe8, 0, 0, 0, 0, 0xc3};
    int distance = ahead - (page + 11);

    memcpy(code + 7, &distance, sizeof distance);
    map_writable(page);
    memcpy(page, code, sizeof code);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    int result = ((int (*)(void))page)();
    munmap(page, PAGE);
    return result;
}

int main(void)
{
    pthread_t thread;
    int sum = 0;

    pthread_create(&thread, NULL, comes_and_goes, NULL);
    for (int i = 0; i < ROUNDS; i++)
        sum += run(ahead + 0x10000);
    over = 1;
    pthread_join(thread, NULL);
    printf("%d\n", sum);
    return 0;
}
