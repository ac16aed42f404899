/* files.c: see files.h. */
#include "engines/native/files.h"
#include "core/run_folder.h"
#include "engines/native/arena.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct lock files_lock;

static long call_beyond_limit(long number, long first, long second)
{
    struct rlimit64 limit, raised;
    lock_take(&files_lock);
    sys(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    raised = (struct rlimit64){limit.rlim_max, limit.rlim_max};
    sys(prlimit64, 0, RLIMIT_NOFILE, &raised, NULL);
    long file = sys_call6(number, first, second, 0600, 0, 0, 0);
    sys(prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
    lock_give(&files_lock);
    return file;
}

static long call(long number, long first, long second)
{
    long file = sys_call6(number, first, second, 0600, 0, 0, 0);
    return file == -EMFILE ? call_beyond_limit(number, first, second) : file;
}

/* ---- the run's folder ---- */

/* Open since the program has another root, at the upper end of the numbers that it can have; -1: it
 * has not. */
static long folder = -1;

/* The name that a path in the folder has there; NULL: it is elsewhere, or the folder is not open. */
static const char *name_within(const char *path)
{
    size_t length = options.run_folder ? strlen(options.run_folder) : 0;
    bool within = folder >= 0 && length && string_starts(path, options.run_folder);
    return within && path[length] == '/' ? path + length + 1 : NULL;
}

long files_open(const char *path, int flags)
{
    const char *name = name_within(path);
    if (name)
        return sys(openat, folder, name, flags | O_CLOEXEC, 0600);
    return call(__NR_open, (long)path, flags | O_CLOEXEC);
}

long files_rename(const char *from, const char *to)
{
    if (name_within(from) && name_within(to))
        return sys(renameat, folder, name_within(from), folder, name_within(to));
    return sys(rename, from, to);
}

void files_before_root(void)
{
    struct rlimit64 limit;
    if (folder >= 0 || !options.run_folder || sys(geteuid))
        return;
    long opened = files_open(options.run_folder, O_PATH | O_DIRECTORY);
    if (sys_failed(opened))
        return;
    sys(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    folder = sys(fcntl, opened, F_DUPFD_CLOEXEC, limit.rlim_cur > 1 ? limit.rlim_cur - 1 : 0);
    sys(close, opened);
}

void files_before_user(long number, const uint64_t *arguments)
{
    struct stat status;
    uint32_t user = arguments[number == __NR_setuid ? 0 : 1];
    long at = folder >= 0 ? folder : AT_FDCWD;
    const char *name = folder >= 0 ? "." : options.run_folder;
    if (!name || sys_failed(sys(newfstatat, at, name, &status, 0)))
        return;
    switch (run_folder_before_user(user, sys(geteuid), status.st_uid)) {
    case RUN_FOLDER_IS_GIVEN:
        sys(fchownat, at, name, user, -1, 0);
        break;
    case RUN_FOLDER_IS_OPENED:
        sys(fchmodat, at, name, RUN_FOLDER_OPEN_MODE);
        break;
    default:
        break;
    }
}

/* Rights are asked for one by one: those that the rules say nothing of are refused. */
static void allow(long rules, long what, uint64_t rights)
{
    if (sys_failed(what))
        return;
    for (; rights; rights &= rights - 1) {
        struct landlock_path_beneath_attr rule = {.allowed_access = rights & -rights,
                                                  .parent_fd = what};
        sys(landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    sys(close, what);
}

void files_before_rules(long rules)
{
    const char *name = folder >= 0 ? "." : options.run_folder;
    long at = folder >= 0 ? folder : AT_FDCWD;
    if (!name)
        return;
    allow(rules, sys(openat, at, name, O_PATH | O_CLOEXEC), UINT16_MAX);
    allow(rules, files_open("/proc/self/exe", O_PATH),
          LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE);
}

/* ---- large ones ---- */

static void set_size_limit(uint64_t soft, uint64_t hard)
{
    struct rlimit64 limit = {soft, hard};
    sys(prlimit64, 0, RLIMIT_FSIZE, &limit, NULL);
}

void files_begin_large(uint64_t *limit)
{
    struct rlimit64 now = {RLIM64_INFINITY, RLIM64_INFINITY};
    sys(prlimit64, 0, RLIMIT_FSIZE, NULL, &now);
    *limit = now.rlim_cur;
    if (now.rlim_cur != now.rlim_max)
        set_size_limit(now.rlim_max, now.rlim_max);
}

void files_end_large(uint64_t limit)
{
    struct rlimit64 now;
    if (!sys_failed(sys(prlimit64, 0, RLIMIT_FSIZE, NULL, &now)) && now.rlim_cur != limit)
        set_size_limit(limit, now.rlim_max);
}

long files_create_memory(const char *name)
{
    return call(__NR_memfd_create, (long)name, MFD_CLOEXEC);
}
