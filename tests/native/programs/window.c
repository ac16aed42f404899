/*
 * window.c: a thread that calls nothing is in its loop while another switches recording on and off.
 */
#include <pthread.h>
#include <stdio.h>
#include <trueflame/trueflame.h>
#include <unistd.h>

static volatile int spins, over;

static void *spin(void *unused)
{
    spins = 1;
    while (!over)
        ;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    while (!spins)
        usleep(100);
    for (int window = 0; window < 3; window++) {
        TRUEFLAME_START();
        usleep(20000);
        TRUEFLAME_STOP();
        usleep(20000);
    }
    over = 1;
    pthread_join(thread, NULL);
    return puts("over") < 0;
}
