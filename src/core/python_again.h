/*
 * python_again.h: trampolines for a CPython that cannot be watched: what it takes to start it once more.
 *
 * The watch finds out that it does not know a CPython, or knows it wrong, when the evaluator is about
 * to run for the first time. By then the interpreter has read files and its environment, and nothing
 * else: it can be started anew with another environment, in which CPython makes a trampoline for each
 * Python function, and nobody will notice. That is so for an interpreter, python3 and its like; a
 * program that has CPython inside may have done anything before.
 *
 *     ours       PYTHONPATH leads to a sitecustomize that loads an extension: one for each version
 *     its own    PYTHONPERFSUPPORT, from 3.12 on
 *
 * `record` starts the program that it was asked for anew itself; those that came later are executed once
 * more by their engine, as the same process.
 */
#ifndef TRUEFLAME_CORE_PYTHON_AGAIN_H
#define TRUEFLAME_CORE_PYTHON_AGAIN_H

#include <stdbool.h>
#include <stdint.h>

/* The first version that our trampolines are made for. */
#define PYTHON_TRAMPOLINES_FROM 9

enum python_way {
    PYTHON_WITHOUT,
    PYTHON_TRAMPOLINES,
    PYTHON_OWN_TRAMPOLINES,
    PYTHON_WAYS,
};

/* "recorded with trampolines, which change the program a little" */
extern const char *const python_way_texts[PYTHON_WAYS];

/* Is it called like an interpreter? */
bool python_is_interpreter(const char *path);

/* The first of the interpreter's own options, which end with its program, that keeps out what the
 * environment says or the site module: 'E', 'I' or 'S'; 0 if there is none. `arguments` ends with NULL. */
char python_option_in_the_way(char *const *arguments);

/* What there is for CPython 3.`minor`, which sees its environment. `trampolines` are ours, as engines
 * are told of them: "9,10,14:FOLDER", versions and the folder for PYTHONPATH. */
enum python_way python_way_for(unsigned minor, const char *trampolines);

/* What an interpreter's strings hash by, where nobody has said: in each run another way, and with them
 * the work that dictionaries make. It is given this one. */
#define PYTHON_SEED_ENTRY "PYTHONHASHSEED=0"
bool python_wants_seed(const char *program, char *const *environment);

/* ---- for engines ---- */

struct core;
struct python_module;

/* Words are files in the run folder with a number and a sentence: "python" for `record`, and one that
 * the program finds when it has begun once more. */
#define PYTHON_WORD_BYTES 1100

struct python_again {
    const char *program; /* its file, or what it is called by */
    char *const *arguments, *const *environment;
    const char *trampolines; /* NULL: none */
    bool
        speaks; /* its standard error is `record`'s, as far as anyone knows: it can say things itself */
    bool is_first; /* `record` was asked for it, and starts it anew: no other program became it */
    bool (*leave_word)(const char *file, const char *word);
    /* The program ends, for `record` to start it anew; is executed, returns if it is not; says it. */
    void (*end)(void);
    void (*execute)(char **environment);
    void (*say)(const char *sentence, const char *how);
};

/* The file of the word for the program that has begun once more; `name` has room for 32 bytes. */
void python_again_file(char *name);

/* The program has begun once more: what its word says. It is not to be watched. */
void python_again_begun(struct core *core, const struct python_again *again, const char *word);

/* A CPython turned out not to be what can be watched: starts the program once more, or says, once,
 * how it is recorded. Before any Python code has run. */
void python_again_or_say(struct core *core, struct python_module *module,
                         const struct python_again *again);

#endif
