/*
 * family.c: what a process sees of its children, and they of themselves: their programs in /proc; files
 * executed by a descriptor that closes, from disk and from memory; less memory than they ask for; being
 * traced, with exec and without. Prints the same alone and under an engine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char secret[] = "a secret";

static void print_process(const char *what, pid_t pid)
{
    char path[64], text[4096] = "";
    sprintf(path, "/proc/%d/exe", pid);
    if (readlink(path, text, sizeof text - 1) < 0)
        perror(path);
    printf("%s runs %s:", what, text);
    sprintf(path, "/proc/%d/cmdline", pid);
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, text, sizeof text);
    close(file);
    for (ssize_t i = 0; i < size; i++)
        putchar(text[i] ? text[i] : ' ');
    putchar('\n');
}

static void print_end(const char *what, pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    printf("%s ended: %x\n", what, status);
}

/* A child that waits until the descriptor is closed. */
static pid_t start_waiting(int *held, const char *program)
{
    int ends[2];
    pipe2(ends, O_CLOEXEC);
    pid_t child = fork();
    if (!child) {
        dup2(ends[0], 0);
        close(ends[1]);
        if (program)
            execlp(program, "waiting", "-", NULL);
        read(0, &(char){0}, 1);
        _exit(3);
    }
    close(ends[0]);
    *held = ends[1];
    return child;
}

static int program_of(pid_t pid, const char *name)
{
    char path[64], text[4096] = "";
    sprintf(path, "/proc/%d/comm", pid);
    int file = open(path, O_RDONLY);
    read(file, text, sizeof text - 1);
    close(file);
    return !strncmp(text, name, strlen(name));
}

static void watch_children(void)
{
    int held;
    char copy[sizeof secret] = "";
    pid_t child = start_waiting(&held, NULL);
    struct iovec here = {copy, sizeof copy}, there = {secret, sizeof secret};
    print_process("fork", child);
    printf("%zd %s\n", process_vm_readv(child, &here, 1, &there, 1, 0), copy);
    close(held);
    print_end("fork", child);
    child = start_waiting(&held, "cat");
    while (!program_of(child, "cat"))
        usleep(1000);
    print_process("exec", child);
    close(held);
    print_end("exec", child);
}

static void execute(int file, const char *how)
{
    pid_t child = fork();
    if (!child) {
        char *arguments[] = {(char *)how, "again", NULL};
        fexecve(file, arguments, environ);
        _exit(99);
    }
    print_end(how, child);
}

static void execute_by_descriptor(void)
{
    char buffer[65536];
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int memory = memfd_create("copy", MFD_CLOEXEC);
    for (ssize_t size; (size = read(file, buffer, sizeof buffer)) > 0;)
        write(memory, buffer, size);
    execute(file, "by descriptor");
    execute(memory, "from memory");
}

static void limit_memory(void)
{
    pid_t child = fork();
    if (!child) {
        struct rlimit limit;
        getrlimit(RLIMIT_DATA, &limit);
        limit.rlim_cur = 1 << 20;
        setrlimit(RLIMIT_DATA, &limit);
        void *volatile large = malloc(200 << 20);
        errno = 0;
        printf("large %d\n", large != NULL);
        _exit(0);
    }
    print_end("limited", child);
}

static void trace(void)
{
    int status, steps = 0;
    pid_t child = fork();
    if (!child) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGUSR1);
        execl("/bin/true", "true", NULL);
    }
    waitpid(child, &status, 0);
    long word = ptrace(PTRACE_PEEKDATA, child, secret, 0);
    printf("stopped %x, %.8s\n", status, (char *)&word);
    ptrace(PTRACE_CONT, child, 0, 0);
    waitpid(child, &status, 0);
    printf("stopped %x\n", status);
    print_process("traced", child);
    while (WIFSTOPPED(status) && steps++ < 200) {
        ptrace(PTRACE_SINGLESTEP, child, 0, 0);
        waitpid(child, &status, 0);
    }
    printf("%d steps, %x\n", steps, status);
    ptrace(PTRACE_CONT, child, 0, 0);
    print_end("traced", child);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 1) {
        print_process(arguments[0], getpid());
        return 3;
    }
    watch_children();
    execute_by_descriptor();
    limit_memory();
    trace();
    return 0;
}
