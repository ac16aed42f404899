/* The process ends while another thread runs without a call: what that one executed counts. */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static volatile unsigned long turns;

static void *run(void *unused)
{
    (void)unused;
    for (;;)
        turns++;
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    while (turns < 100000000)
        usleep(1000);
    _exit(3);
}
