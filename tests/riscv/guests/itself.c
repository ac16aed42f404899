/* What a program is told of itself: its arguments, its own file, its threads' names. Says one line
 * for each. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void say_file(const char *path)
{
    char text[256] = "";
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, text, sizeof text - 1);

    for (ssize_t i = 0; i < size - 1; i++)
        if (!text[i])
            text[i] = ' ';
    printf("%s\n", text);
    close(file);
}

static void say_name(void)
{
    char name[16] = "";

    printf("%d %s\n", prctl(PR_GET_NAME, name), name);
}

static void *run_thread(void *name)
{
    say_name();
    prctl(PR_SET_NAME, name);
    say_name();
    return NULL;
}

int main(void)
{
    char path[64], own[256] = "", numbered[256] = "";
    pthread_t thread;

    say_file("/proc/self/cmdline");
    sprintf(path, "/proc/%d/cmdline", getpid());
    say_file(path);
    readlink("/proc/self/exe", own, sizeof own - 1);
    sprintf(path, "/proc/%d/exe", getpid());
    readlink(path, numbered, sizeof numbered - 1);
    printf("%s %d\n", strrchr(own, '/') + 1, strcmp(own, numbered));
    say_name();
    prctl(PR_SET_NAME, "a name that is too long");
    say_name();
    pthread_create(&thread, NULL, run_thread, "other");
    pthread_join(thread, NULL);
    say_name();
    return 0;
}
