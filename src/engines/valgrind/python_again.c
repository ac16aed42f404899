/*
 * python_again.c: a CPython that cannot be watched is started once more, see core/python_again.h: by
 * `record`, or by exec of the same program, whose instructions so far are not counted. Exec is done as
 * Valgrind does it for the program.
 */
#include "engine.h"

#include "core/platform.h"
#include "core/python.h"
#include "core/text.h"
#include "engines/engine.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_libcsignal.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

/* Of Valgrind's core, though not in its public headers. */
extern const HChar *VG_(name_of_launcher);
extern XArray *VG_(args_for_valgrind);
extern Int VG_(args_for_valgrind_noexecpass);
extern struct vki_rlimit VG_(client_rlimit_data);
extern Int VG_(setrlimit)(Int resource, const struct vki_rlimit *limit);

enum { PATH_BYTES = 4096 };

static vki_sigset_t signal_mask; /* the program's, which Valgrind keeps from the kernel */
static struct python_again again;

static bool leave_word(const char *name, const char *word)
{
    HChar path[PATH_BYTES];

    VG_(snprintf)(path, sizeof path, "%s/%s", options.run_folder, name);
    SysRes opened =
        VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, VKI_S_IRUSR | VKI_S_IWUSR);
    if (sr_isError(opened))
        return false;
    Int written = VG_(write)(sr_Res(opened), word, VG_(strlen)(word));
    VG_(close)(sr_Res(opened));
    return written > 0;
}

static Bool take_word(HChar *word, SizeT size)
{
    HChar path[PATH_BYTES], done[PATH_BYTES], name[32];

    python_again_file(name);
    VG_(snprintf)(path, sizeof path, "%s/%s", options.run_folder, name);
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return False;
    Int length = VG_(read)(sr_Res(opened), word, size - 1);
    VG_(close)(sr_Res(opened));
    VG_(snprintf)(done, sizeof done, "%s/trampolines", options.run_folder);
    VG_(rename)(path, done);
    word[length > 0 ? length : 0] = '\0';
    return True;
}

static void end(void)
{
    VG_(exit)(125);
}

static void execute(char **environment)
{
    XArray *own = VG_(args_for_valgrind), *words = VG_(args_for_client);
    Word own_count = VG_(sizeXA)(own), word_count = VG_(sizeXA)(words), variables = 0;
    const HChar **list = platform_allocate((own_count + word_count + 3) * sizeof *list);
    const struct vki_rlimit none = {.rlim_max = VG_(client_rlimit_data).rlim_max};
    vki_sigset_t blocked;
    HChar tools[PATH_BYTES];
    UWord count = 0;

    while (environment[variables])
        variables++;
    char **all = platform_allocate((variables + 2) * sizeof *all);
    for (Word i = 0; i < variables; i++)
        all[i] = environment[i];
    VG_(snprintf)(tools, sizeof tools, "VALGRIND_LIB=%s/tools", options.run_folder);
    all[variables] = tools;
    list[count++] = VG_(name_of_launcher);
    for (Word i = VG_(args_for_valgrind_noexecpass); i < own_count; i++)
        list[count++] = *(const HChar **)VG_(indexXA)(own, i);
    list[count++] = VG_(args_the_exename);
    for (Word i = 0; i < word_count; i++)
        list[count++] = *(const HChar **)VG_(indexXA)(words, i);
    output_forget();
    environment_leave_name(again.arguments[0]);
    turns_before_exec();
    VG_(setrlimit)(VKI_RLIMIT_DATA, &VG_(client_rlimit_data));
    VG_(sigprocmask)(VKI_SIG_SETMASK, &signal_mask, &blocked);
    call_kernel(__NR_execve, (UWord)VG_(name_of_launcher), (UWord)list, (UWord)all);
    VG_(sigprocmask)(VKI_SIG_SETMASK, &blocked, NULL);
    VG_(setrlimit)(VKI_RLIMIT_DATA, &none);
    environment_exec_failed();
}

static void say_how(const char *sentence, const char *how)
{
    VG_(printf)("trueflame: %s: %s\n", sentence, how);
}

static struct python_again again = {
    .leave_word = leave_word, .end = end, .execute = execute, .say = say_how};

void python_note_signals(void)
{
    VG_(sigprocmask)(VKI_SIG_BLOCK, NULL, &signal_mask);
}

/* Of a script it is the script's. */
static const HChar *interpreter(const HChar *program, HChar *called)
{
    return python_is_interpreter(program) ? program : called;
}

Bool python_fixes_seed(const HChar *program, HChar *called, HChar **environment)
{
    if (!options.python_seed || !python_wants_seed(interpreter(program, called), environment))
        return False;
    leave_word(ENGINE_SEED_FILE, "");
    return True;
}

void python_begin(const HChar *program, HChar **arguments, HChar **environment)
{
    HChar word[PYTHON_WORD_BYTES];

    again.program = text_keep(interpreter(program, arguments[0]));
    again.arguments = text_keep_list(arguments);
    again.environment = text_keep_list(environment);
    again.trampolines = options.trampolines;
    again.speaks = options.python_retry == (ULong)VG_(getpid)();
    if (!options.python || !take_word(word, sizeof word))
        return;
    options.python = False;
    python_again_begun(&core, &again, word);
}

void python_refuse(struct python_module *python)
{
    again.speaks = options.python_retry == (ULong)VG_(getpid)(); /* a child of fork does not */
    again.is_first = output_is_first_program();
    python_again_or_say(&core, python, &again);
}
