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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Python's strings hash differently in each run, and with them the work that dictionaries make. A
 * program that was given a seed keeps it. */
static bool fixes_hash_seed(const struct record_options *options)
{
    return options->python != WATCH_OFF && !getenv("PYTHONHASHSEED") &&
           python_environment_is_python(options->command[0]);
}

void record_hint_python(const struct record_options *options)
{
    if (!options->quiet && fixes_hash_seed(options))
        fputs("trueflame: PYTHONHASHSEED=0 for this run, so that it can be repeated\n", stderr);
}

void record_find_trampolines(struct record_options *options)
{
    if (options->python == WATCH_AUTO)
        options->trampolines = python_environment_trampolines();
}

void record_prepare_python(const struct record_options *options, const char *run_folder)
{
    struct error error;

    if (fixes_hash_seed(options))
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
