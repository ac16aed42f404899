/* What a process can see of itself: prints the same alone and under an engine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_file(const char *path)
{
    char text[4096];
    FILE *file = fopen(path, "r");
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (size_t i = 0; i < size; i++)
        putchar(text[i] ? text[i] : ' ');
    putchar('\n');
}

/* Every mapping is of a file the program has, or has no name, or one of the kernel's. */
static void print_maps(const char *path)
{
    char line[4096], here, *heap = malloc(16);
    unsigned long start, end, strange = 0, stack = 0, in_heap = 0, code = 0;
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx", &start, &end) != 2 || !strstr(line, "-"))
            continue;
        strange += strstr(line, "trueflame") || strstr(line, "memfd") || strstr(line, "deleted");
        if (strstr(line, "[stack]"))
            stack += (unsigned long)&here >= start && (unsigned long)&here < end;
        if (strstr(line, "[heap]"))
            in_heap += (unsigned long)heap >= start && (unsigned long)heap < end;
        code += (unsigned long)print_maps >= start && (unsigned long)print_maps < end &&
                strstr(line, "r-xp");
    }
    fclose(file);
    printf("%s: strange %lu, stack %lu, heap %lu, code %lu\n", path, strange, stack, in_heap, code);
}

/* By a folder's descriptor, by a way round, from the folder itself. */
static void print_exe(const char *name)
{
    char link[4096];
    struct stat of_link, by_link, by_name;
    int folder = open("/proc/self", O_PATH | O_DIRECTORY);
    ssize_t here = readlinkat(folder, "exe", link, sizeof link);
    ssize_t round = readlink("/proc/self/task/../../self/exe", link, sizeof link);
    int file = openat(folder, "exe", O_RDONLY);

    fstat(file, &by_link);
    close(file);
    stat(name, &by_name);
    printf("exe %zd %zd, opened %d", here - (ssize_t)strlen(name), round - (ssize_t)strlen(name),
           by_link.st_ino == by_name.st_ino);
    fstatat(folder, "exe", &by_link, 0);
    lstat("/proc/self/exe", &of_link);
    printf(", found %d, a link %d", by_link.st_ino == by_name.st_ino, S_ISLNK(of_link.st_mode));
    fchdir(folder);
    close(folder);
    printf(", from there %zd\n", readlink("exe", link, sizeof link) - (ssize_t)strlen(name));
    print_maps("maps");
}

int main(int count, char **arguments)
{
    char link[4096] = "", own[64];
    struct stat by_link, by_name;
    pthread_attr_t attributes;
    void *stack;
    size_t size;

    print_file("/proc/self/cmdline");
    print_file("/proc/self/comm");
    print_file("/proc/self/environ");
    print_maps("/proc/self/maps");
    print_maps("/proc/thread-self/maps");
    sprintf(own, "/proc/%d/task/%d/smaps", getpid(), getpid());
    FILE *smaps = fopen(own, "r");
    printf("smaps %d\n", smaps && fgets(link, sizeof link, smaps) && strstr(link, arguments[0]));
    printf("exe %zd ",
           readlink("/proc/self/exe", link, sizeof link) - (ssize_t)strlen(arguments[0]));
    sprintf(own, "/proc/%d/exe", getpid());
    stat(own, &by_link);
    stat(arguments[0], &by_name);
    printf("%d %d\n", by_link.st_ino == by_name.st_ino, access("/proc/self/exe", X_OK));
    printf("execfn %s\n", (const char *)getauxval(AT_EXECFN));
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &size);
    printf("stack %d\n", (char *)&count >= (char *)stack && (char *)&count < (char *)stack + size);
    printf("descriptor %d\n", dup(0));
    print_exe(arguments[0]);
    return 0;
}
