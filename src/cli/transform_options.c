#include "cli/transform_options.h"

#include "cli/command.h"
#include "common/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char transform_help[] =
    "What is shown:\n"
    "  --skip-object=GLOB         frames of these objects are not shown; their cost goes to the\n"
    "                             nearest caller that is (repeatable)\n"
    "  --skip-function=GLOB       the same for functions (repeatable)\n"
    "  --skip-anon                the same for code without file or name\n"
    "  --focus=GLOB               paths through these functions; the rest is (other)\n"
    "  --root=FUNCTION            the function's calls as roots; the rest is (other)\n"
    "  --fold-recursion           a function once on a path, direct and mutual recursion\n"
    "  --invert                   the executing function first, then its callers\n"
    "  --inline=yes|no            inlined functions as frames (yes)\n"
    "  --python=mixed|only|native Python and native frames together (mixed), or one kind\n"
    "  --merge-threads=yes|no     no: a frame for each process and thread (yes)\n"
    "  --merge-tiers              JavaScript: what V8 compiled again is the same function\n"
    "  --part=NAME                one part of the recording\n";

int transform_option(struct transform_arguments *arguments, int code, const char *value)
{
    static const char *const yes_or_no[] = {"yes", "no", NULL};
    static const char *const python_modes[] = {"mixed", "only", "native", NULL};
    struct transforms *transforms = &arguments->transforms;
    int chosen = 0, result = OK;

    switch (code) {
    case TRANSFORM_SKIP_OBJECT:
        *array_push(arguments->objects, arguments->object_count, arguments->object_capacity) =
            value;
        break;
    case TRANSFORM_SKIP_FUNCTION:
        *array_push(arguments->functions, arguments->function_count, arguments->function_capacity) =
            value;
        break;
    case TRANSFORM_SKIP_ANON:
        transforms->skip.anon = true;
        break;
    case TRANSFORM_FOCUS:
        transforms->focus = value;
        break;
    case TRANSFORM_ROOT:
        transforms->root = value;
        break;
    case TRANSFORM_FOLD_RECURSION:
        transforms->fold_recursion = true;
        break;
    case TRANSFORM_INVERT:
        transforms->invert = true;
        break;
    case TRANSFORM_INLINE:
        result = cli_parse_choice("--inline", value, yes_or_no, &chosen);
        transforms->choice.no_inline = chosen == 1;
        break;
    case TRANSFORM_PYTHON:
        if (!strcmp(value, "off"))
            return cli_fail("--python=off is for record; to look at native frames alone: "
                            "--python=native");
        result = cli_parse_choice("--python", value, python_modes, &chosen);
        transforms->python = (enum python_mode)chosen;
        break;
    case TRANSFORM_MERGE_THREADS:
        result = cli_parse_choice("--merge-threads", value, yes_or_no, &chosen);
        transforms->choice.split_threads = chosen == 1;
        break;
    case TRANSFORM_MERGE_TIERS:
        transforms->choice.merge_tiers = true;
        break;
    case TRANSFORM_PART:
        transforms->choice.part = value;
        break;
    default:
        return 1;
    }
    return result;
}

const struct transforms *transform_arguments_finish(struct transform_arguments *arguments)
{
    struct skip_rules *skip = &arguments->transforms.skip;

    skip->objects = arguments->objects;
    skip->object_count = arguments->object_count;
    skip->functions = arguments->functions;
    skip->function_count = arguments->function_count;
    return &arguments->transforms;
}

void transform_arguments_free(struct transform_arguments *arguments)
{
    free(arguments->objects);
    free(arguments->functions);
    *arguments = (struct transform_arguments){0};
}

int cli_check_paths(const struct view *view, const char *format, struct error *error)
{
    uint64_t frames = view_path_frames(view);

    if (frames <= MOST_PATH_FRAMES)
        return OK;
    return error_set(error,
                     "the call paths have %" PRIu64 " frames in all, too many for %s; try "
                     "--fold-recursion",
                     frames, format);
}
