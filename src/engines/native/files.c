/* files.c: see files.h. */
#include "engines/native/files.h"
#include "engines/native/arena.h"
#include "engines/native/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Held while the limit is not the program's own. */
static struct lock lock;

void files_forked(void)
{
    lock = (struct lock){0};
}

static long call_beyond_limit(long number, long first, long second)
{
    struct rlimit64 limit, raised;
    lock_take(&lock);
    sys(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    raised = (struct rlimit64){limit.rlim_max, limit.rlim_max};
    sys(prlimit64, 0, RLIMIT_NOFILE, &raised, NULL);
    long file = sys_call6(number, first, second, 0600, 0, 0, 0);
    sys(prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
    lock_give(&lock);
    return file;
}

static long call(long number, long first, long second)
{
    long file = sys_call6(number, first, second, 0600, 0, 0, 0);
    return file == -EMFILE ? call_beyond_limit(number, first, second) : file;
}

long files_open(const char *path, int flags)
{
    return call(__NR_open, (long)path, flags | O_CLOEXEC);
}

long files_create_memory(const char *name)
{
    return call(__NR_memfd_create, (long)name, MFD_CLOEXEC);
}
