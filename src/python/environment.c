#include "python/environment.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "core/python_again.h"
#include "python/launcher_traces.h"

static bool has_package(const char *directory)
{
    char *file = memory_format("%s/site/sitecustomize.py", directory);
    bool found = access(file, R_OK) == 0;

    free(file);
    return found;
}

char *python_environment_directory(struct error *error)
{
    const char *wanted = getenv("TRUEFLAME_PYTHON_DIR");
    if (wanted && *wanted) {
        if (has_package(wanted))
            return memory_duplicate_string(wanted);
        error_set(error, "TRUEFLAME_PYTHON_DIR: no trampolines in %s", wanted);
        return NULL;
    }
    char program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) {
        error_set_errno(error, "/proc/self/exe");
        return NULL;
    }
    program[length] = 0;
    *strrchr(program, '/') = 0;
    static const char *const places[] = {"src/python", PYTHON_INSTALL_DIRECTORY};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char *directory = memory_format("%s/%s", program, places[i]);
        char *resolved = has_package(directory) ? realpath(directory, NULL) : NULL;
        free(directory);
        if (resolved)
            return resolved;
    }
    error_set(error, "no trampolines were built or installed with %s/trueflame", program);
    return NULL;
}

/* _trampoline.cpython-314-x86_64-linux-gnu.so: its minor version. */
static unsigned version_of(const char *file)
{
    const char *number = strstr(file, "_trampoline.cpython-3");

    return number ? strtoul(number + strlen("_trampoline.cpython-3"), NULL, 10) : 0;
}

char *python_environment_trampolines(void)
{
    struct error error;
    char *directory = python_environment_directory(&error);
    if (!directory || strchr(directory, ':'))
        return memory_duplicate_string(":");
    char *pattern = memory_format("%s/trueflame_trampoline/_trampoline.cpython-3*-*.so", directory);
    char *text = memory_duplicate_string("");
    glob_t found = {0};

    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *longer =
            memory_format("%s%s%u", text, *text ? "," : "", version_of(found.gl_pathv[i]));
        free(text);
        text = longer;
    }
    char *all = memory_format("%s:%s/site", text, directory);
    globfree(&found);
    free(text);
    free(pattern);
    free(directory);
    return all;
}

/* Lists where this program's files are mapped, for the extension to make perf forget them. */
static void leave_traces(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL, *text = memory_format("%d:", (int)getpid());
    size_t capacity = 0;
    unsigned long start, end;

    while (maps && getline(&line, &capacity, maps) > 0) {
        bool shared = strchr(line, '/') || strstr(line, "[vdso]");
        if (!shared || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        char *longer = memory_format("%s%lx-%lx,", text, start, end);
        free(text);
        text = longer;
    }
    if (maps)
        fclose(maps);
    setenv(LAUNCHER_TRACES_VARIABLE, text, 1);
    free(line);
    free(text);
}

int python_environment_prepare(const char *names, struct error *error)
{
    char *directory = python_environment_directory(error);
    if (!directory)
        return ERROR;
    if (strchr(directory, ':')) {
        error_set(error, "PYTHONPATH cannot hold %s: it has a colon", directory);
        free(directory);
        return ERROR;
    }
    const char *old = getenv("PYTHONPATH");
    char *path = old && *old ? memory_format("%s/site:%s", directory, old)
                             : memory_format("%s/site", directory);
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("PYTHONPATH", path, 1);
    setenv("TRUEFLAME_TRAMPOLINE_NAMES", names, 1);
    setenv("TRUEFLAME_TRAMPOLINE_PID", pid, 1);
    leave_traces();
    free(path);
    free(directory);
    return OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int check_option(const char *python, char option, struct error *error)
{
    if (option == 'S')
        return error_set(error,
                         "%s -S starts without the site module, which is how trampolines get into "
                         "an unchanged program; leave -S out, or call "
                         "trueflame_trampoline.activate() in the program",
                         base_name(python));
    return error_set(error,
                     "%s -%c ignores PYTHONPATH, which is how trampolines get into an unchanged "
                     "program; leave -%c out, or call trueflame_trampoline.activate() in the "
                     "program",
                     base_name(python), option, option);
}

static int check_python_options(char *const *arguments, struct error *error)
{
    char option = python_option_in_the_way(arguments);

    return option ? check_option(arguments[0], option, error) : OK;
}

/* The file that exec would run: as given when it has a slash, otherwise the first on PATH. */
static FILE *open_command(const char *name)
{
    if (strchr(name, '/'))
        return fopen(name, "re");
    const char *path = getenv("PATH");
    for (const char *entry = path ? path : "/usr/bin:/bin"; entry;) {
        const char *end = strchrnul(entry, ':');
        char *file = memory_format("%.*s/%s", (int)(end - entry), entry, name);
        FILE *stream = access(file, X_OK) == 0 ? fopen(file, "re") : NULL;
        free(file);
        if (stream)
            return stream;
        entry = *end ? end + 1 : NULL;
    }
    return NULL;
}

#define SCRIPT_WORDS 32

/* The first line of a script, in words from the Python that it names on; NULL if it names none.
 * `line` holds the words. */
static char **script_python(const char *name, char *line, int line_bytes, char **words)
{
    size_t count = 0;
    FILE *stream = open_command(name);

    if (!stream)
        return NULL; /* exec says what is wrong with it */
    bool read = fgets(line, line_bytes, stream) != NULL;
    fclose(stream);
    if (!read || strncmp(line, "#!", 2) != 0)
        return NULL;
    for (char *word = strtok(line + 2, " \t\r\n"); word && count < SCRIPT_WORDS - 1;
         word = strtok(NULL, " \t\r\n"))
        words[count++] = word;
    words[count] = NULL;
    for (size_t i = 0; i < count; i++)
        if (python_is_interpreter(words[i]))
            return words + i;
    return NULL;
}

bool python_environment_is_python(const char *command)
{
    char line[256], *words[SCRIPT_WORDS];

    return python_is_interpreter(command) || script_python(command, line, sizeof line, words);
}

int python_environment_check_command(char *const *arguments, struct error *error)
{
    char line[256], *words[SCRIPT_WORDS];

    if (python_is_interpreter(arguments[0]))
        return check_python_options(arguments, error);
    char **python = script_python(arguments[0], line, sizeof line, words);
    return python ? check_python_options(python, error) : OK;
}
