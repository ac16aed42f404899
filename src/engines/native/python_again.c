/* python_again.c: see python_again.h. */
#include "engines/native/python_again.h"
#include "engines/engine.h"
#include "engines/native/arena.h"
#include "engines/native/exec.h"
#include "engines/native/files.h"
#include "engines/native/record.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include <fcntl.h>

static void put_path(char path[4096], const char *file)
{
    struct string_builder builder = {path, 0, 4096};
    string_add(&builder, options.run_folder);
    string_add(&builder, "/");
    string_add(&builder, file);
}

static bool leave_word(const char *name, const char *word)
{
    char path[4096];
    put_path(path, name);
    long file = files_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (sys_failed(file))
        return false;
    long written = sys(write, file, word, strlen(word));
    sys(close, file);
    return written > 0;
}

static bool take_word(char *word, size_t size)
{
    char path[4096], done[4096], name[32];
    python_again_file(name);
    put_path(path, name);
    long file = files_open(path, O_RDONLY);
    if (sys_failed(file))
        return false;
    long length = sys(read, file, word, size - 1);
    sys(close, file);
    put_path(done, "trampolines");
    files_rename(path, done);
    word[length > 0 ? length : 0] = 0;
    return true;
}

static void end(void)
{
    for (;;)
        sys(exit_group, STATUS_REFUSED);
}

static void execute(char **environment)
{
    record_forget();
    exec_once_more(environment);
}

static void say_how(const char *sentence, const char *how)
{
    say(sentence, ": ", how, NULL);
}

static struct python_again again = {
    .leave_word = leave_word, .end = end, .execute = execute, .say = say_how};

static bool seed_is_ours;

void python_fix_seed(struct program *program)
{
    if (!options.python_seed || !python_wants_seed(program->path, program->environment))
        return;
    size_t count = 0;
    while (program->environment[count])
        count++;
    char **longer = arena_allocate((count + 2) * sizeof *longer);
    memcpy(longer, program->environment, count * sizeof *longer);
    longer[count] = PYTHON_SEED_ENTRY;
    longer[count + 1] = NULL;
    program->environment = longer;
    seed_is_ours = true;
}

void python_begin(const struct program *program)
{
    char word[PYTHON_WORD_BYTES];
    if (seed_is_ours && options.run_folder)
        leave_word(ENGINE_SEED_FILE, "");
    again.program = program->path;
    again.arguments = program->arguments;
    again.environment = program->environment;
    again.trampolines = options.trampolines;
    again.speaks = options.python_retry == (uint64_t)sys(getpid);
    if (!options.python || !options.run_folder || !take_word(word, sizeof word))
        return;
    options.python = false;
    python_again_begun(&core, &again, word);
}

void python_refuse(struct python_module *python)
{
    again.speaks = options.python_retry == (uint64_t)sys(getpid); /* a child of fork does not */
    again.is_first = record_is_first_program();
    python_again_or_say(&core, python, &again);
}
