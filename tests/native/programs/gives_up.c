/* What servers do to themselves: another user, another root, no large files. A child is made after. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int limit(int resource, rlim_t soft, rlim_t hard)
{
    return setrlimit(resource, &(struct rlimit){soft, hard});
}

static void give_up(const char *what)
{
    int result = -1;
    if (!strcmp(what, "user"))
        result = setuid(65534);
    else if (!strcmp(what, "others"))
        result = seteuid(65533) || seteuid(0) || setresuid(65534, 65534, 65534);
    else if (!strcmp(what, "root"))
        result = chroot(".") || chdir("/");
    else if (!strcmp(what, "size"))
        result = limit(RLIMIT_FSIZE, 0, RLIM_INFINITY);
    printf("%s %d\n", what, result);
}

int main(int count, char **words)
{
    int status = 0;
    for (int i = 1; i < count; i++)
        give_up(words[i]);
    fflush(stdout);
    if (!fork())
        _exit(4);
    wait(&status);
    printf("%d\n", WEXITSTATUS(status));
    return 3;
}
