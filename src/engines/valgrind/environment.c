/*
 * environment.c: gives the program the environment it would have alone.
 *
 * Valgrind makes the dynamic loader load a library of its own through LD_PRELOAD, whose loading
 * would be counted. This engine replaces no function, so the library is not needed: LD_PRELOAD is
 * put back to what the user had, or taken away, and so is VALGRIND_LIB, which Valgrind sets again
 * for programs that are called by exec.
 *
 * Exec under Valgrind makes the path of a program's file its first argument, whatever the caller
 * said it was. So that is left in the run's folder before the call, and found there after it.
 *
 * With --repeatable the whole initial stack is written anew (core/initial_stack.h), as the native
 * engine has it: it does then not depend on what Valgrind has put there, nor on the kernel.
 */
#include "engine.h"

#include "core/initial_stack.h"
#include "core/platform.h"
#include "core/python_again.h"
#include "core/text.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"

/* Of Valgrind's core, though not in its public headers. */
extern HChar **VG_(client_envp);
extern UWord *VG_(client_auxv);
extern void VG_(set_SP)(ThreadId tid, Addr sp);
extern Bool VG_(am_create_reservation)(Addr start, SizeT length, Int mode, SSizeT extra);

enum {
    AUXV_END = 0,
    AUXV_HEADERS = 3,
    AUXV_HEADER_COUNT = 5,
    AUXV_LOADER = 7,
    AUXV_ENTRY = 9,
    AUXV_USER = 11,
    AUXV_EFFECTIVE_USER = 12,
    AUXV_GROUP = 13,
    AUXV_EFFECTIVE_GROUP = 14,
    AUXV_SECURE = 23,
    AUXV_PATH = 31,
};

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

/* ---- the name of the next program ---- */

enum { NAME_BYTES = 4096 };

static void put_name_path(HChar *path, SizeT size_bytes)
{
    VG_(snprintf)(path, size_bytes, "%s/called.%d", options.run_folder, VG_(getpid)());
}

void environment_leave_name(const HChar *name)
{
    HChar path[NAME_BYTES];

    put_name_path(path, sizeof path);
    SysRes opened =
        VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, VKI_S_IRUSR | VKI_S_IWUSR);
    if (sr_isError(opened))
        return;
    VG_(write)(sr_Res(opened), name, VG_(strlen)(name));
    VG_(close)(sr_Res(opened));
}

void environment_note_exec(UWord arguments)
{
    static HChar name[NAME_BYTES];
    UWord at;
    SizeT length = 0;

    if (!arguments || !platform_read(arguments, &at, sizeof at) || !at)
        return;
    while (length < NAME_BYTES - 1 && platform_read(at + length, &name[length], 1) && name[length])
        length++;
    name[length] = '\0';
    environment_leave_name(name);
}

void environment_exec_failed(void)
{
    HChar path[NAME_BYTES];

    put_name_path(path, sizeof path);
    VG_(unlink)(path);
}

/* NULL: this program was not called by exec. */
static HChar *name_left(void)
{
    static HChar name[NAME_BYTES];
    HChar path[NAME_BYTES];

    put_name_path(path, sizeof path);
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return NULL;
    Int got = VG_(read)(sr_Res(opened), name, NAME_BYTES - 1);
    VG_(close)(sr_Res(opened));
    VG_(unlink)(path);
    name[got > 0 ? got : 0] = '\0';
    return got < 0 ? NULL : name;
}

/* ---- the stack ---- */

/* The first of the arguments, which the environment follows. */
static HChar **first_argument(void)
{
    HChar **at = VG_(client_envp) - 1;

    for (UWord count = 0; (UWord)at[-1] != count; count++)
        at--;
    return at;
}

/* In place, where the path ends as the name does: that is how programs are mostly called. */
static void restore_name(HChar **argument, HChar *name)
{
    if (!name || !*argument)
        return;
    SizeT length = VG_(strlen)(name), present = VG_(strlen)(*argument);
    if (options.repeatable)
        *argument = name;
    else if (length <= present && !VG_(strcmp)(*argument + present - length, name))
        *argument += present - length;
}

/* Room for an entry's text behind the auxiliary vector, which moves down by that; what is before it by
 * another word, for the entry. All of it is within what Valgrind keeps below the stack pointer. */
enum { TEXT_ROOM = 40, ENTRY_ROOM = TEXT_ROOM + sizeof(UWord) };

static Addr new_stack_pointer;

static void move_down(void *start, const void *end, SizeT bytes)
{
    for (HChar *at = start; at < (const HChar *)end; at++)
        at[-(SSizeT)bytes] = *at;
}

static void add_entry(const HChar *entry)
{
    UWord *count = (UWord *)(first_argument() - 1), *auxv = VG_(client_auxv), *end = auxv;

    while (end[0] != AUXV_END)
        end += 2;
    end += 2;
    move_down(count, auxv, ENTRY_ROOM);
    move_down(auxv, end, TEXT_ROOM);
    VG_(strcpy)((HChar *)end - TEXT_ROOM, entry);
    VG_(client_auxv) = (UWord *)((Addr)auxv - TEXT_ROOM);
    VG_(client_envp) = (HChar **)((Addr)VG_(client_envp) - ENTRY_ROOM);
    VG_(client_auxv)[-2] = (UWord)end - TEXT_ROOM;
    VG_(client_auxv)[-1] = 0;
    new_stack_pointer = (Addr)count - ENTRY_ROOM;
}

static UWord auxiliary_value(UWord type)
{
    for (UWord *auxv = VG_(client_auxv); auxv[0] != AUXV_END; auxv += 2)
        if (auxv[0] == type)
            return auxv[1];
    return 0;
}

/* What exec was called with: for the first program, which Valgrind may have looked for itself, what
 * `record` has found. */
static const char *path_called(const char *path)
{
    for (const char *at = path; *at; at++)
        if (*at == '/')
            return path;
    return options.program ? options.program : path;
}

/* It ends where Valgrind's did, with a page, and is never larger. */
static void put_fixed_stack(void)
{
    const char *path = (const char *)auxiliary_value(AUXV_PATH);
    const Addr top = VG_PGROUNDUP((Addr)path + text_length(path) + 1);
    const struct program_facts facts = {
        .headers = auxiliary_value(AUXV_HEADERS),
        .header_count = auxiliary_value(AUXV_HEADER_COUNT),
        .loader = auxiliary_value(AUXV_LOADER),
        .entry = auxiliary_value(AUXV_ENTRY),
        .user = auxiliary_value(AUXV_USER),
        .effective_user = auxiliary_value(AUXV_EFFECTIVE_USER),
        .group = auxiliary_value(AUXV_GROUP),
        .effective_group = auxiliary_value(AUXV_EFFECTIVE_GROUP),
        .secure = auxiliary_value(AUXV_SECURE),
    };
    struct auxiliary rows[INITIAL_STACK_FIXED_ROWS];
    UChar random[16];

    initial_stack_fixed_rows(&facts, rows);
    repeatable_random(random, sizeof random);
    HChar **arguments = first_argument();
    UWord count = (UWord)arguments[-1];
    struct initial_stack stack = {
        .path = text_keep(path_called(path)),
        .arguments = text_keep_list(arguments),
        .environment = text_keep_list((char **)VG_(client_envp)),
        .random = random,
        .rows = rows,
        .row_count = INITIAL_STACK_FIXED_ROWS,
    };
    initial_stack_put(&stack, top);
    new_stack_pointer = stack.stack_pointer;
    VG_(client_envp) = (HChar **)(stack.stack_pointer + (1 + count + 1) * sizeof(UWord));
    VG_(client_auxv) = (UWord *)stack.auxiliary;
}

/* Nothing of the program's goes where the native engine has its code, nor beside this tool, whose
 * size would decide what fits there. */
static void keep_engine_range(void)
{
    const Addr tool = 0x58000000, end = 0x80000000;
    Addr from = tool;

    for (const NSegment *part; (part = VG_(am_find_nsegment)(from)) && part->end < end;)
        from = part->end + 1;
    if (from > tool && from < end)
        VG_(am_create_reservation)(from, end - from, 0 /* SmFixed */, 0);
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
    restore_name(first_argument(), name_left());
    if (python_fixes_seed((const HChar *)auxiliary_value(AUXV_PATH), *first_argument(),
                          VG_(client_envp)))
        add_entry(PYTHON_SEED_ENTRY);
    python_begin((const HChar *)auxiliary_value(AUXV_PATH), first_argument(), VG_(client_envp));
    if (options.repeatable) {
        keep_engine_range();
        put_fixed_stack();
    }
}

void environment_begin(ThreadId tid)
{
    if (new_stack_pointer)
        VG_(set_SP)(tid, new_stack_pointer);
    new_stack_pointer = 0;
}
