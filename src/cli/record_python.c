/*
 * record_python.c: what is done for Pythons beside watching them: the hash seed, trampolines, and
 * the choice of a way for a CPython that cannot be watched.
 *
 * Only the engine finds out which CPython it is, when that begins to run. It then ends and says so
 * (ENGINE_PYTHON_FILE), before any Python code has run, and the program is started once more: with
 * our trampolines if there are any for that version, with CPython's own if it has them, or else with
 * neither. For a Python that another program became or started its engine does the same.
 */
#include "cli/record.h"
#include "common/memory.h"
#include "core/python_again.h"
#include "python/environment.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whoever was given a seed keeps it. The program is given one here if it is a Python; those that it
 * becomes or starts get theirs from the engine, as others are not to see it. */
static bool may_fix_seed(const struct record_options *options)
{
    return options->python != WATCH_OFF && !getenv("PYTHONHASHSEED");
}

static bool fixes_seed_now(const struct record_options *options)
{
    return may_fix_seed(options) && python_environment_is_python(options->program);
}

static void say_seed(const struct record_options *options)
{
    if (!options->quiet)
        fputs("trueflame: " PYTHON_SEED_ENTRY " for this run, so that it can be repeated\n",
              stderr);
}

/* The program's script, as far as its words tell: modules are looked for beside it. */
static const char *find_script(const struct record_options *options)
{
    if (!python_is_interpreter(options->command[0]))
        return options->program;
    for (char *const *word = options->command + 1; *word; word++)
        if (**word != '-' && !access(*word, F_OK))
            return *word;
    return "."; /* -c and -m: where it runs */
}

static bool is_beside(const char *path, const char *other)
{
    char *one = memory_duplicate_string(path), *two = memory_duplicate_string(other);
    char *one_folder = realpath(dirname(one), NULL), *two_folder = realpath(dirname(two), NULL);
    bool same = one_folder && two_folder && !strcmp(one_folder, two_folder);

    free(one_folder);
    free(two_folder);
    free(one);
    free(two);
    return same;
}

/* The finder of modules makes a set of all names in a folder, and works more for each. */
static void hint_at_folder(const struct record_options *options)
{
    if (!options->quiet && is_beside(options->output, find_script(options)))
        fprintf(stderr,
                "trueflame: Python lists the folder of %s when it imports, and each name there "
                "changes the count: -o writes elsewhere\n",
                options->output);
}

/* The evaluator is watched, and not what the JIT makes of it. */
static void hint_at_jit(const struct record_options *options)
{
    const char *wanted = getenv("PYTHON_JIT");

    if (!options->quiet && options->python == WATCH_AUTO && wanted && *wanted &&
        strcmp(wanted, "0"))
        fprintf(
            stderr,
            "trueflame: PYTHON_JIT=%s: Python functions that CPython's JIT has inlined are counted "
            "for those that call them\n",
            wanted);
}

void record_hint_python(struct record_options *options)
{
    bool is_python = python_environment_is_python(options->program);

    if (is_python)
        hint_at_jit(options);
    if (is_python && options->repeatable)
        hint_at_folder(options);
    options->seeds_later = may_fix_seed(options) && !fixes_seed_now(options);
    if (fixes_seed_now(options))
        say_seed(options);
}

void record_hint_seed(const struct record_options *options, const char *run_folder)
{
    char *path = memory_format("%s/" ENGINE_SEED_FILE, run_folder);

    if (!access(path, F_OK))
        say_seed(options);
    free(path);
}

void record_find_trampolines(struct record_options *options)
{
    if (options->python == WATCH_AUTO)
        options->trampolines = python_environment_trampolines();
}

void record_prepare_python(const struct record_options *options, const char *run_folder)
{
    struct error error;

    if (fixes_seed_now(options))
        setenv("PYTHONHASHSEED", "0", 1);
    if (options->python == WATCH_PERF)
        setenv("PYTHONPERFSUPPORT", "1", 1);
    if (options->python != WATCH_TRAMPOLINE)
        return;
    if (python_environment_check_command(options->command, &error) != OK ||
        python_environment_prepare("map", &error) != OK)
        engine_fail(run_folder, "%s", error.text);
}

static enum python_watch other_way(const struct record_options *options, unsigned minor)
{
    static const enum python_watch watches[] = {
        [PYTHON_WITHOUT] = WATCH_OFF,
        [PYTHON_TRAMPOLINES] = WATCH_TRAMPOLINE,
        [PYTHON_OWN_TRAMPOLINES] = WATCH_PERF,
    };
    struct error error;

    if (python_environment_check_command(options->command, &error) != OK)
        return WATCH_OFF;
    return watches[python_way_for(minor, options->trampolines)];
}

bool record_needs_other_python(struct record_options *options, const char *run_folder)
{
    static const enum python_way ways[] = {
        [WATCH_OFF] = PYTHON_WITHOUT,
        [WATCH_TRAMPOLINE] = PYTHON_TRAMPOLINES,
        [WATCH_PERF] = PYTHON_OWN_TRAMPOLINES,
    };
    char *path = memory_format("%s/" ENGINE_PYTHON_FILE, run_folder);
    FILE *file = fopen(path, "re");
    char sentence[1024] = "";
    unsigned minor;

    free(path);
    if (!file)
        return false;
    bool read = fscanf(file, "%u %1023[^\n]", &minor, sentence) == 2;
    fclose(file);
    if (!read)
        return false;
    options->python = other_way(options, minor);
    fprintf(stderr, "trueflame: %s: %s\n", sentence, python_way_texts[ways[options->python]]);
    return true;
}
