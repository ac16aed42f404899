/*
 * killed_spawns.c: children of vfork that call code which was never called before, until they are killed,
 * again and again; with an argument, while another thread does so too. If one is not over a while after
 * it was killed, the program is killed too.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 100, FUNCTIONS = 1 << 20, LONGEST_WAIT = 20000 };

static unsigned char *code;
static unsigned next;

static void *call_all(void *unused)
{
    for (;;)
        ((void (*)(void))(code + next++ % FUNCTIONS))();
    return unused;
}

/* Of those whose number comes, at most three milliseconds later. */
static void kill_all(int from, pid_t parent)
{
    struct pollfd word = {.fd = from, .events = POLLIN};
    unsigned chance = 1;
    pid_t pid;

    while (poll(&word, 1, LONGEST_WAIT) == 1 && read(from, &pid, sizeof pid) == sizeof pid) {
        chance = chance * 1103515245 + 12345;
        usleep((chance >> 16) % 3000);
        kill(pid, SIGKILL);
    }
    if (!word.revents)
        kill(parent, SIGKILL);
    _exit(0);
}

static int spawn(int to)
{
    int status;
    pid_t pid = vfork();

    if (!pid) {
        pid_t own = getpid();
        write(to, &own, sizeof own);
        call_all(NULL);
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status);
}

int main(int count, char **arguments)
{
    int ends[2], killed = 0;
    pid_t own = getpid();
    pthread_t thread;

    code = mmap(NULL, FUNCTIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(code, 0xc3, FUNCTIONS);
    mprotect(code, FUNCTIONS, PROT_READ | PROT_EXEC);
    pipe(ends);
    if (!fork()) {
        close(ends[1]);
        kill_all(ends[0], own);
    }
    close(ends[0]);
    if (count > 1)
        pthread_create(&thread, NULL, call_all, NULL);
    for (int i = 0; i < CHILDREN; i++)
        killed += spawn(ends[1]);
    printf("%d killed\n", killed);
    return 0;
}
