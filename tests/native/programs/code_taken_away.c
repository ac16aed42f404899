/*
 * code_taken_away.c: code in shared memory, which may change, that is called again and again while another
 * thread maps and unmaps it. Where it is not there, the call faults, and nothing else happens.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { ROUNDS = 10000, CALLS = 100, PAGE = 4096 };

static char *const code = (char *)0x10000000000;
static volatile int over;
static sigjmp_buf back;
static int wrong;

static void on_fault(int number, siginfo_t *info, void *context)
{
    char *at = (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

    wrong += number != SIGSEGV || at < code || at >= code + PAGE || info->si_addr != at;
    siglongjmp(back, 1);
}

static void *maps_and_unmaps(void *file)
{
    while (!over) {
        mmap(code, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, *(int *)file, 0);
        for (volatile int i = 0; i < 1000; i++)
            ;
        munmap(code, PAGE);
    }
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    int file = memfd_create("code", 0);
    char bytes[PAGE];
    pthread_t thread;

    memset(bytes, 0x90, PAGE);
    bytes[30] = (char)0xc3;
    write(file, bytes, PAGE);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);
    pthread_create(&thread, NULL, maps_and_unmaps, &file);
    for (volatile int i = 0; i < ROUNDS; i++)
        if (!sigsetjmp(back, 1))
            for (int j = 0; j < CALLS; j++)
                ((void (*)(void))code)();
    over = 1;
    pthread_join(thread, NULL);
    printf("%d wrong\n", wrong);
    return 0;
}
