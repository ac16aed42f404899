/*
 * diff.c: `trueflame diff BASE NEW`: what changed, exactly; and a verdict for CI.
 */
#include "cli/command.h"
#include "cli/transform_options.h"
#include "common/memory.h"
#include "common/output.h"
#include "formats/diffs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct diff_format *const formats[] = {
    &diff_text, &diff_folded, &diff_html, &diff_json, &diff_markdown,
};

#define FORMAT_COUNT (sizeof formats / sizeof *formats)

/* How much more the new profile may cost. */
struct limit {
    bool set;
    bool percent;
    double share;
    uint64_t instructions;
};

struct diff_arguments {
    const struct diff_format *format;
    const char *output;
    struct limit limit;
    struct diff_options options;
    struct transform_arguments transforms;
    bool normalise;
};

static int print_help(void)
{
    fputs("trueflame diff BASE NEW [-f FORMAT] [-o OUT] [options]\n\n"
          "What changed between two profiles. Counts are exact: what did not change is not shown.\n"
          "\n",
          stdout);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        printf("  -f %-24s%s\n", formats[i]->name, formats[i]->summary);
    fputs("\n  -o OUT                     the file to write\n"
          "  --fail-above=PERCENT%|N    exit with status 1 if NEW has more instructions than this\n"
          "                             above BASE: a percentage (2%) or a number (10000)\n"
          "  --limit=N                  rows of a table (30)\n"
          "  --all                      folded, json: paths that did not change too\n"
          "  --normalise                scale BASE to the sum of NEW first\n\n",
          stdout);
    fputs(transform_help, stdout);
    return 0;
}

static int parse_limit(const char *text, struct limit *limit)
{
    size_t length = strlen(text);
    char *end;

    limit->set = true;
    limit->percent = length && text[length - 1] == '%';
    if (!limit->percent)
        return cli_parse_number("--fail-above", text, &limit->instructions) ? EXIT_BAD_INPUT + 1
                                                                            : 0;
    limit->share = strtod(text, &end);
    if (end == text || end != text + length - 1 || !(limit->share >= 0))
        return cli_fail("--fail-above=%s: not a percentage", text) + 1;
    return 0;
}

static int parse_format(struct diff_arguments *arguments, const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (!strcmp(formats[i]->name, name)) {
            arguments->format = formats[i];
            return 0;
        }
    return cli_fail("diff: unknown format '%s'; see trueflame diff --help", name) + 1;
}

/* 0, or the exit status plus 1: there is nothing more to do. */
static int parse_option(struct diff_arguments *arguments, char **argv, int code)
{
    int result = transform_option(&arguments->transforms, code, optarg);
    uint64_t number;

    if (result <= 0)
        return result == OK ? 0 : EXIT_BAD_INPUT + 1;
    switch (code) {
    case 'f':
        return parse_format(arguments, optarg);
    case 'o':
        arguments->output = optarg;
        return 0;
    case 'F':
        return parse_limit(optarg, &arguments->limit);
    case 'l':
        if (cli_parse_number("--limit", optarg, &number))
            return EXIT_BAD_INPUT + 1;
        arguments->options.limit = number;
        return 0;
    case 'a':
        arguments->options.all = true;
        return 0;
    case 'n':
        arguments->normalise = true;
        return 0;
    case 'h':
        return print_help() + 1;
    default:
        return cli_fail_option("diff", argv, code) + 1;
    }
}

struct side {
    struct profile *profile;
    struct view *view;
};

static int read_side(struct side *side, const char *path, const struct transforms *transforms)
{
    struct error error;

    if (flame_read(path, &side->profile, &error))
        return cli_fail_error(&error);
    if (transforms_apply(side->profile, transforms, &side->view, &error))
        return cli_fail("%s: %s", path, error.text);
    return 0;
}

/* Counts the paths that will be written: those that changed, or all. */
static int check_paths(const struct diff_arguments *arguments, const struct diff *diff,
                       struct error *error)
{
    struct view written = *diff->tree;

    written.self = memory_allocate(written.node_count * sizeof *written.self);
    for (size_t i = 0; i < written.node_count; i++)
        written.self[i] = arguments->options.all || diff->base_self[i] != diff->tree->self[i] ||
                          diff->base_calls[i] != diff->tree->calls[i];
    int result = cli_check_paths(&written, arguments->format->name, error);
    free(written.self);
    return result;
}

static int write_diff(struct diff_arguments *arguments, const struct diff *diff)
{
    struct output output;
    struct error error;
    struct winsize size;

    if (!arguments->output && isatty(STDOUT_FILENO)) {
        arguments->options.colour = !getenv("NO_COLOR");
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
            arguments->options.width = size.ws_col;
    }
    if (arguments->format->long_paths && check_paths(arguments, diff, &error))
        return cli_fail_error(&error);
    if (output_open(&output, arguments->output, &error))
        return cli_fail_error(&error);
    if (arguments->format->write(diff, &arguments->options, output.stream, &error)) {
        output_discard(&output);
        return cli_fail_error(&error);
    }
    return output_commit(&output, &error) == OK ? 0 : cli_fail_error(&error);
}

/* 0 or 1, with the sentence for the log. */
static int judge(const struct limit *limit, uint64_t base, uint64_t new)
{
    uint64_t growth = new > base ? new - base : 0;

    if (!limit->set || growth == 0)
        return 0;
    if (limit->percent && 100.0L * growth <= (long double)limit->share * base)
        return 0;
    if (!limit->percent && growth <= limit->instructions)
        return 0;
    char allowed[64];
    if (limit->percent)
        snprintf(allowed, sizeof allowed, "%g%%", limit->share);
    else
        snprintf(allowed, sizeof allowed, "%llu", (unsigned long long)limit->instructions);
    cli_fail("instructions grew from %llu to %llu, by %llu%s: more than the %s allowed",
             (unsigned long long)base, (unsigned long long)new, (unsigned long long)growth,
             base ? "" : " from nothing", allowed);
    return 1;
}

static int diff_files(struct diff_arguments *arguments, char **paths)
{
    const struct transforms *transforms = transform_arguments_finish(&arguments->transforms);
    struct side base = {0}, new = {0};
    int status = read_side(&base, paths[0], transforms);

    if (status == 0)
        status = read_side(&new, paths[1], transforms);
    if (status == 0) {
        struct diff *diff = diff_make(base.view, new.view);
        uint64_t base_sum = diff->base_sum, new_sum = diff->new_sum;
        if (arguments->normalise)
            diff_normalise(diff);
        arguments->options.base_name = paths[0];
        arguments->options.new_name = paths[1];
        status = write_diff(arguments, diff);
        if (status == 0)
            status = judge(&arguments->limit, base_sum, new_sum);
        diff_free(diff);
    }
    view_free(base.view);
    view_free(new.view);
    profile_free(base.profile);
    profile_free(new.profile);
    return status;
}

int command_diff(int argc, char **argv)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"fail-above", required_argument, NULL, 'F'},
        {"limit", required_argument, NULL, 'l'},
        {"all", no_argument, NULL, 'a'},
        {"normalise", no_argument, NULL, 'n'},
        {"normalize", no_argument, NULL, 'n'},
        {"help", no_argument, NULL, 'h'},
        TRANSFORM_OPTIONS,
        {0},
    };
    struct diff_arguments arguments = {.format = &diff_text, .options = {.limit = 30}};
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1)
        status = parse_option(&arguments, argv, code);
    if (status)
        status -= 1;
    else if (argc - optind != 2)
        status = cli_fail("diff: needs BASE and NEW; see trueflame diff --help");
    else
        status = diff_files(&arguments, argv + optind);
    transform_arguments_free(&arguments.transforms);
    return status;
}
