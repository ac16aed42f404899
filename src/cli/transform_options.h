/*
 * transform_options.h: the options that report, view, export and diff have in common.
 *
 * A command lists TRANSFORM_OPTIONS in its own option table, offers every code to
 * transform_option first, and prints transform_help with its own help.
 */
#ifndef TRUEFLAME_TRANSFORM_OPTIONS_H
#define TRUEFLAME_TRANSFORM_OPTIONS_H

#include "profile/transform.h"

enum transform_code {
    TRANSFORM_SKIP_OBJECT = 1000,
    TRANSFORM_SKIP_FUNCTION,
    TRANSFORM_SKIP_ANON,
    TRANSFORM_FOCUS,
    TRANSFORM_ROOT,
    TRANSFORM_FOLD_RECURSION,
    TRANSFORM_INVERT,
    TRANSFORM_INLINE,
    TRANSFORM_PYTHON,
    TRANSFORM_MERGE_THREADS,
    TRANSFORM_MERGE_TIERS,
    TRANSFORM_PART,
};

#define TRANSFORM_OPTIONS                                                                          \
    {"skip-object", required_argument, NULL, TRANSFORM_SKIP_OBJECT},                               \
        {"skip-function", required_argument, NULL, TRANSFORM_SKIP_FUNCTION},                       \
        {"skip-anon", no_argument, NULL, TRANSFORM_SKIP_ANON},                                     \
        {"focus", required_argument, NULL, TRANSFORM_FOCUS},                                       \
        {"root", required_argument, NULL, TRANSFORM_ROOT},                                         \
        {"fold-recursion", no_argument, NULL, TRANSFORM_FOLD_RECURSION},                           \
        {"invert", no_argument, NULL, TRANSFORM_INVERT},                                           \
        {"inline", required_argument, NULL, TRANSFORM_INLINE},                                     \
        {"python", required_argument, NULL, TRANSFORM_PYTHON},                                     \
        {"merge-threads", required_argument, NULL, TRANSFORM_MERGE_THREADS},                       \
        {"merge-tiers", no_argument, NULL, TRANSFORM_MERGE_TIERS},                                 \
    {                                                                                              \
        "part", required_argument, NULL, TRANSFORM_PART                                            \
    }

/* `transforms.skip` points into the arrays; free with transform_arguments_free. */
struct transform_arguments {
    struct transforms transforms;
    const char **objects, **functions;
    size_t object_count, object_capacity, function_count, function_capacity;
};

extern const char transform_help[];

/* OK: it was one of ours; ERROR: it was, and what is wrong was said; 1: it is not ours. */
int transform_option(struct transform_arguments *arguments, int code, const char *value);

/* The transforms that the options asked for; valid until the next option or free. */
const struct transforms *transform_arguments_finish(struct transform_arguments *arguments);
void transform_arguments_free(struct transform_arguments *arguments);

/* A format that writes every path in full is as large as the sum of their lengths: of a recursion a
 * million deep it would fill any disk. ERROR above MOST_PATH_FRAMES. */
#define MOST_PATH_FRAMES 4000000000ull
int cli_check_paths(const struct view *view, const char *format, struct error *error);

#endif
