/*
 * launch.c: runs a command and says what it used.
 *
 *     launch FILE COMMAND [ARGS...]      FILE gets: user microseconds, system microseconds, peak KB
 *
 * A process's peak memory counts from before it called exec, so what Python starts seems to have
 * used what Python uses. This is small, and starts the command itself. Ends with the command's
 * status, 128 and the number of the signal if it was killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long microseconds(struct timeval time)
{
    return time.tv_sec * 1000000L + time.tv_usec;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status;

    if (argc < 3)
        return 2;
    pid_t child = fork();
    if (!child) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) != child)
        return 2;
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 2;
    fprintf(out, "%ld %ld %ld\n", microseconds(used.ru_utime), microseconds(used.ru_stime),
            used.ru_maxrss);
    fclose(out);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
