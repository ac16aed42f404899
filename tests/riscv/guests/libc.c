/* Much of a C library: formatting, floats, sorting, strings, memory of all sizes, files. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
    int numbers[500];

    srand(7);
    for (int i = 0; i < 500; i++)
        numbers[i] = rand() % 1000;
    qsort(numbers, 500, sizeof *numbers, compare);
    for (int i = 0; i < 500; i += 50)
        printf("%d ", numbers[i]);
    puts("");
}

static void floats(void)
{
    double sum = 0;

    for (int i = 1; i < 300; i++)
        sum += sin(i) * pow(i, 0.3) / log(i + 1) + fmod(i, 0.7) + cbrt(i) - floor(i / 3.0);
    printf("%.17g %a %g %f\n", sum, sum, 1e-310, strtod("1.7976931348623157e308", NULL));
    printf("%.9g %d %lld\n", (double)sqrtf(2.0f), (int)-2.7, llrint(2.5));
}

static void memory(void)
{
    char *blocks[64];

    for (size_t i = 0; i < 64; i++) {
        blocks[i] = malloc(1 << (i % 18));
        memset(blocks[i], (int)i, 1 << (i % 18));
    }
    for (size_t i = 0; i < 64; i += 2)
        free(blocks[i]);
    char *grown = realloc(blocks[1], 1 << 19);
    memset(grown, 'x', 1 << 19);
    void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, grown, 8192);
    printf("%d %d\n", ((char *)page)[8191], mprotect(page, 4096, PROT_READ));
    munmap(page, 8192);
    free(grown);
}

static void files(void)
{
    const char *name = "guest.tmp"; /* a random one would not take the same path each time */
    char text[64];
    struct stat status;
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

    dprintf(file, "%s %d\n", "written", 42);
    lseek(file, 0, SEEK_SET);
    ssize_t got = read(file, text, sizeof text);
    fstat(file, &status);
    printf("%zd %.*s%ld %o\n", got, (int)got, text, (long)status.st_size, status.st_mode);
    close(file);
    unlink(name);
    printf("%d %s\n", open("/nonexistent/file", O_RDONLY), strerror(errno));
    printf("%zd %d\n", read(0, text, 1), isatty(1));
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++)
        printf("%s, ", arguments[i]);
    printf("%d %s\n", count, getenv("NOTHING") ? "?" : "no environment");
    sort();
    floats();
    memory();
    files();
    struct tm when = {.tm_year = 100, .tm_mday = 1};
    char date[64];
    strftime(date, sizeof date, "%Y-%m-%d %j", &when);
    puts(date);
    return 17;
}
