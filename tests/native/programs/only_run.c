/* only_run.c: code that may be run but not read, called while every signal is blocked. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    memcpy(page, "\xb8\x07\0\0\0\xc3", 6); /* mov eax, 7; ret */
    mprotect(page, 4096, PROT_EXEC);
    printf("%d\n", ((int (*)(void))page)());
    return 0;
}
