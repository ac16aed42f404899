/*
 * environment.c: gives the program the environment it would have alone.
 *
 * Valgrind makes the dynamic loader load a library of its own through LD_PRELOAD, whose loading
 * would be counted. This engine replaces no function, so the library is not needed: LD_PRELOAD is
 * put back to what the user had, or taken away, and so is VALGRIND_LIB, which Valgrind sets again
 * for programs that are called by exec.
 */
#include "engine.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"

/* Of Valgrind's core, though not in its public headers. */
extern HChar **VG_(client_envp);
extern UWord *VG_(client_auxv);

enum { AUXV_END = 0, AUXV_RANDOM = 25 };

/* The environment ends with a NULL, right after which the program looks for its auxiliary vector:
 * all that follows the entry moves down by a word. */
static void remove_entry(HChar **entry)
{
    UWord *at = (UWord *)entry;
    UWord *auxv = VG_(client_auxv);

    while (auxv[0] != AUXV_END)
        auxv += 2;
    for (; at < auxv + 1; at++)
        at[0] = at[1];
    VG_(client_auxv)--;
}

/* Sixteen bytes from which libc makes its canary and programs their hash seeds. */
static void fix_randomness(void)
{
    for (UWord *auxv = VG_(client_auxv); auxv[0] != AUXV_END; auxv += 2)
        if (auxv[0] == AUXV_RANDOM)
            repeatable_random((UChar *)auxv[1], 16);
}

/* The list without Valgrind's libraries, in place; the result is never longer. */
static Bool strip_list(HChar *list)
{
    HChar *to = list;
    HChar *from = list;

    while (*from) {
        HChar *end = from;
        while (*end && *end != ':' && *end != ' ')
            end++;
        Bool ours = False;
        for (HChar *at = from; at + 9 < end && !ours; at++)
            ours = !VG_(strncmp)(at, "vgpreload", 9);
        if (!ours) {
            if (to != list)
                *to++ = ':';
            while (from < end)
                *to++ = *from++;
        }
        from = *end ? end + 1 : end;
    }
    *to = '\0';
    return to != list;
}

void environment_restore(void)
{
    HChar **entry = VG_(client_envp);

    while (*entry) {
        Bool ours = !VG_(strncmp)(*entry, "VALGRIND_LIB=", 13) ||
                    (!VG_(strncmp)(*entry, "LD_PRELOAD=", 11) && !strip_list(*entry + 11));
        if (ours)
            remove_entry(entry);
        else
            entry++;
    }
    if (options.repeatable)
        fix_randomness();
}
