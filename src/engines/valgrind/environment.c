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

extern HChar **VG_(client_envp);

static void remove_entry(HChar **entry)
{
    for (; *entry; entry++)
        entry[0] = entry[1];
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
}
