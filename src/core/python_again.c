/* python_again.c: see python_again.h. */
#include "core/python_again.h"
#include "core/core.h"
#include "core/platform.h"
#include "core/python.h"
#include "core/text.h"

const char *const python_way_texts[PYTHON_WAYS] = {
    [PYTHON_WITHOUT] = "its Python frames are not shown",
    [PYTHON_TRAMPOLINES] = "recorded with trampolines, which change the program a little",
    [PYTHON_OWN_TRAMPOLINES] =
        "recorded with its own trampolines, which change the program a little",
};

#define OWN_TRAMPOLINES_FROM 12

bool python_is_interpreter(const char *path)
{
    const char *name = path;

    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    return text_starts_with(name, "python");
}

/* The option in a word of options, from its letter on; *takes_next: the next word belongs to it. */
static char look_at_letters(const char *letters, bool *takes_next, bool *ends)
{
    for (; *letters; letters++) {
        if (*letters == 'c' || *letters == 'm') {
            *ends = true;
            return 0;
        }
        if (*letters == 'W' || *letters == 'X') {
            *takes_next = !letters[1];
            return 0;
        }
        if (*letters == 'S' || *letters == 'I' || *letters == 'E')
            return *letters;
    }
    return 0;
}

char python_option_in_the_way(char *const *arguments)
{
    for (char *const *argument = arguments + 1; *argument && **argument == '-'; argument++) {
        const char *letters = *argument + 1;
        bool takes_next = text_equal(letters, "-check-hash-based-pycs"), ends = !*letters;
        char found = *letters == '-' ? 0 : look_at_letters(letters, &takes_next, &ends);
        if (found || ends) /* the program is an argument, or comes from standard input */
            return found;
        if (takes_next && argument[1])
            argument++;
    }
    return 0;
}

enum python_way python_way_for(unsigned minor, const char *trampolines)
{
    const char *at = trampolines;

    while (*at >= '0' && *at <= '9') {
        if (text_to_number(at, &at) == minor)
            return PYTHON_TRAMPOLINES;
        at += *at == ',';
    }
    return minor >= OWN_TRAMPOLINES_FROM ? PYTHON_OWN_TRAMPOLINES : PYTHON_WITHOUT;
}

bool python_wants_seed(const char *program, char *const *environment)
{
    bool has_one = false;

    for (char *const *entry = environment; *entry; entry++)
        has_one |= text_starts_with(*entry, "PYTHONHASHSEED=");
    return !has_one && python_is_interpreter(program);
}

/* ---- the environment ---- */

struct environment {
    char **entries;
    size_t count;
};

static char *join(const char *first, const char *second, const char *third)
{
    size_t a = text_length(first), b = text_length(second), c = text_length(third);
    char *text = platform_allocate(a + b + c + 1);

    __builtin_memcpy(text, first, a);
    __builtin_memcpy(text + a, second, b);
    __builtin_memcpy(text + a + b, third, c);
    return text;
}

/* `name` ends with "=". */
static char **find(const struct environment *environment, const char *name)
{
    for (size_t i = 0; i < environment->count; i++)
        if (text_starts_with(environment->entries[i], name))
            return &environment->entries[i];
    return NULL;
}

static void set(struct environment *environment, const char *name, const char *value,
                const char *rest)
{
    char **entry = find(environment, name);

    if (!entry)
        entry = &environment->entries[environment->count++];
    *entry = join(name, value, rest);
}

static const char *value_of(const struct environment *environment, const char *name)
{
    char **entry = find(environment, name);

    return entry ? *entry + text_length(name) : "";
}

/* What `environment` becomes for it; NULL if it is so already. */
static char **environment_for(enum python_way way, const char *trampolines,
                              char *const *environment)
{
    enum { MOST_ADDED = 2 };
    struct environment made = {0};

    while (environment[made.count])
        made.count++;
    made.entries = platform_allocate((made.count + MOST_ADDED + 1) * sizeof *made.entries);
    for (size_t i = 0; i < made.count; i++)
        made.entries[i] = environment[i];
    if (way == PYTHON_OWN_TRAMPOLINES) {
        const char *value = value_of(&made, "PYTHONPERFSUPPORT=");
        if (*value && !text_equal(value, "0"))
            return NULL;
        set(&made, "PYTHONPERFSUPPORT=", "1", "");
        return made.entries;
    }
    while (*trampolines && *trampolines != ':')
        trampolines++;
    const char *folder = trampolines + (*trampolines == ':');
    const char *path = value_of(&made, "PYTHONPATH=");
    size_t length = text_length(folder);
    if (text_starts_with(path, folder) && (!path[length] || path[length] == ':'))
        return NULL;
    set(&made, "PYTHONPATH=", folder, *path ? join(":", path, "") : "");
    set(&made, "TRUEFLAME_TRAMPOLINE_NAMES=", "map", "");
    return made.entries;
}

/* ---- once more ---- */

void python_again_file(char *name)
{
    static const char prefix[] = "again.";

    __builtin_memcpy(name, prefix, sizeof prefix);
    text_from_number(name + sizeof prefix - 1, platform_process());
}

static void put_word(char *word, uint64_t number, const char *sentence)
{
    size_t at = text_from_number(word, number), length = text_length(sentence);
    size_t room = PYTHON_WORD_BYTES - at - 2;

    word[at++] = ' ';
    length = length < room ? length : room;
    __builtin_memcpy(word + at, sentence, length);
    word[at + length] = '\0';
}

static void say_how(struct core *core, const struct python_again *again, const char *sentence,
                    enum python_way way)
{
    if (again->speaks)
        again->say(sentence, python_way_texts[way]);
    else
        python_note_why(core, sentence, way);
}

void python_again_begun(struct core *core, const struct python_again *again, const char *word)
{
    const char *rest;
    uint64_t way = text_to_number(word, &rest);

    if (way < PYTHON_WAYS && *rest == ' ')
        say_how(core, again, rest + 1, way);
}

/* Returns where that is not to be: because it is no interpreter, or there are no trampolines for it. True
 * if it has them: who started it had them too, and has said so. */
static bool start_again(const struct python_again *again, unsigned minor, const char *sentence)
{
    char word[PYTHON_WORD_BYTES], file[32];

    if (minor < PYTHON_TRAMPOLINES_FROM || !python_is_interpreter(again->program))
        return false;
    if (again->is_first) {
        put_word(word, minor, sentence);
        if (again->leave_word("python", word))
            again->end();
        return false;
    }
    if (!again->trampolines || python_option_in_the_way(again->arguments))
        return false;
    enum python_way way = python_way_for(minor, again->trampolines);
    if (way == PYTHON_WITHOUT)
        return false;
    char **environment = environment_for(way, again->trampolines, again->environment);
    if (!environment)
        return true;
    python_again_file(file);
    put_word(word, way, sentence);
    if (again->leave_word(file, word))
        again->execute(environment);
    return false;
}

void python_again_or_say(struct core *core, struct python_module *module,
                         const struct python_again *again)
{
    char sentence[PYTHON_SENTENCE_BYTES];

    if (module->told)
        return;
    module->told = true;
    python_say_why(module, sentence);
    if (!start_again(again, module->minor, sentence))
        say_how(core, again, sentence, PYTHON_WITHOUT);
}
