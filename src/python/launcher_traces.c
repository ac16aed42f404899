#include "python/launcher_traces.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Where something of this program lies already, perf was told so when it came there. */
static void cover(unsigned long start, unsigned long end)
{
    void *memory = mmap((void *)start, end - start, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (memory != MAP_FAILED)
        munmap(memory, end - start);
}

/* The list is "PID:START-END,START-END,..." with addresses in hexadecimal. */
void launcher_traces_cover(void)
{
    const char *text = getenv(LAUNCHER_TRACES_VARIABLE);
    char *rest;

    if (!text || strtol(text, &rest, 10) != getpid() || *rest != ':')
        return;
    for (rest++; *rest;) {
        unsigned long start = strtoul(rest, &rest, 16);
        if (*rest++ != '-')
            return;
        unsigned long end = strtoul(rest, &rest, 16);
        if (start < end)
            cover(start, end);
        if (*rest++ != ',')
            return;
    }
}
