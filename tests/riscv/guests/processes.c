/* Children: forked, waited for, told apart; another program in the same process, a program of the
 * host, signals between processes, memory and pipes that they share. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int seen;

static void see(int number)
{
    seen = number;
}

__attribute__((noipa)) static int child_work(int n)
{
    volatile int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i;
    return sum & 63;
}

static int status_of(pid_t child)
{
    int status = 0;

    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1 && !strcmp(arguments[1], "again")) {
        printf("again: %d arguments, WHO=%s\n", count, getenv("WHO"));
        return 9;
    }
    int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2];
    char text[8] = "";
    if (pipe(ends))
        return 1;
    pid_t child = fork();
    if (!child) {
        shared[0] = child_work(1000);
        _exit(write(ends[1], "hello", 5));
    }
    if (read(ends[0], text, 5) != 5)
        return 1;
    int status = status_of(child);
    printf("fork: %s, status %d, shared %d\n", text, status, shared[0]);
    if (!(child = fork())) {
        setenv("WHO", "me", 1);
        execl(arguments[0], arguments[0], "again", "x", (char *)NULL);
        _exit(99);
    }
    printf("exec: %d\n", status_of(child));
    if (!(child = fork()))
        abort();
    printf("abort: %d\n", status_of(child));
    char *command[] = {"sh", "-c", "echo from the shell; exit 4", NULL};
    int failed = posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ);
    status = status_of(child);
    printf("spawn: %d %d\n", failed, status);
    printf("system: %d\n", WEXITSTATUS(system("exit 3")));
    signal(SIGUSR1, see);
    if (!(child = fork())) {
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    while (!seen)
        usleep(1000);
    printf("signal: %d %d\n", seen == SIGUSR1, status_of(child));
    signal(SIGALRM, see);
    ualarm(10000, 0);
    while (seen != SIGALRM)
        ;
    printf("alarm\n");
    return 6;
}
