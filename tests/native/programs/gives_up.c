/* What servers do to themselves: another user, another root, limits, rules. A child is made
 * after. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int limit(int resource, rlim_t soft, rlim_t hard)
{
    return setrlimit(resource, &(struct rlimit){soft, hard});
}

/* No files are made or written any more, and nothing is executed but what is in /usr. */
static int rule(void)
{
    const uint64_t programs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;
    struct landlock_ruleset_attr handled = {programs | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                            LANDLOCK_ACCESS_FS_MAKE_REG};
    int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    struct landlock_path_beneath_attr usr = {programs, open("/usr", O_PATH)};
    if (rules < 0)
        return 0; /* not in this kernel */
    return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &usr, 0) ||
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           syscall(SYS_landlock_restrict_self, rules, 0) || close(rules) || close(usr.parent_fd) ||
           open("made", O_CREAT | O_WRONLY, 0600) >= 0;
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
        result = limit(RLIMIT_FSIZE, 0, 0);
    else if (!strcmp(what, "memory"))
        result = limit(RLIMIT_AS, 64 << 20, 64 << 20) || !malloc(8 << 20) || malloc(128 << 20);
    else if (!strcmp(what, "data"))
        result = limit(RLIMIT_DATA, 32 << 20, 32 << 20) || !malloc(8 << 20) || malloc(64 << 20);
    else if (!strcmp(what, "files"))
        result = limit(RLIMIT_NOFILE, 3, 3) || dup(0) >= 0;
    else if (!strcmp(what, "rules"))
        result = rule();
    struct rlimit now[2];
    getrlimit(RLIMIT_AS, &now[0]);
    getrlimit(RLIMIT_NOFILE, &now[1]);
    printf("%s %d %ld %ld\n", what, result, (long)now[0].rlim_max,
           strcmp(what, "files") ? 0 : (long)now[1].rlim_max);
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
