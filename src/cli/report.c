/*
 * report.c: `trueflame report FILE`: tables on the terminal.
 */
#include "cli/command.h"
#include "cli/transform_options.h"
#include "formats/report.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char help[] =
    "trueflame report FILE [options]\n\n"
    "A table of functions: their own instructions, those of what they call too, and calls.\n"
    "  --sort=self|total|calls    what comes first (self)\n"
    "  --limit=N                  rows (30)\n"
    "  --tree                     the call tree instead\n"
    "  --min-percent=P            tree: leave out what is below P% (0.5)\n"
    "  --depth=N                  tree: leave out what is deeper (50)\n"
    "  --function=GLOB            callers and callees of one function\n"
    "  --lines=FILE               the lines of a source file\n"
    "  --json                     for programs\n"
    "  --colour=auto|yes|no       (auto: on a terminal)\n\n";

struct report_arguments {
    struct report_options options;
    struct transform_arguments transforms;
    const char *input, *function, *lines;
    bool tree;
    int colour; /* -1 auto */
};

static int parse_percent(const char *value, double *percent)
{
    char *end;

    *percent = strtod(value, &end);
    if (end == value || *end || !(*percent >= 0 && *percent <= 100))
        return cli_fail("--min-percent=%s: not a percentage", value) + 1;
    return 0;
}

static int parse_size(const char *option, const char *value, size_t *size)
{
    uint64_t number;

    if (cli_parse_number(option, value, &number))
        return EXIT_BAD_INPUT + 1;
    *size = number;
    return 0;
}

/* 0, or the exit status plus 1: there is nothing more to do. */
static int parse_option(struct report_arguments *arguments, char **argv, int code)
{
    static const char *const sorts[] = {"self", "total", "calls", NULL};
    static const char *const colours[] = {"no", "yes", "auto", NULL};
    int result = transform_option(&arguments->transforms, code, optarg), chosen = 0;

    if (result <= 0)
        return result == OK ? 0 : EXIT_BAD_INPUT + 1;
    switch (code) {
    case 's':
        if (cli_parse_choice("--sort", optarg, sorts, &chosen))
            return EXIT_BAD_INPUT + 1;
        arguments->options.sort = (enum report_sort)chosen;
        return 0;
    case 'c':
        if (cli_parse_choice("--colour", optarg, colours, &chosen))
            return EXIT_BAD_INPUT + 1;
        arguments->colour = chosen == 2 ? -1 : chosen;
        return 0;
    case 'l':
        return parse_size("--limit", optarg, &arguments->options.limit);
    case 'd':
        return parse_size("--depth", optarg, &arguments->options.most_depth);
    case 'm':
        return parse_percent(optarg, &arguments->options.least_percent);
    case 't':
        arguments->tree = true;
        return 0;
    case 'f':
        arguments->function = optarg;
        return 0;
    case 'L':
        arguments->lines = optarg;
        return 0;
    case 'j':
        arguments->options.json = true;
        return 0;
    case 'h':
        fputs(help, stdout);
        fputs(transform_help, stdout);
        return 1;
    default:
        return cli_fail_option("report", argv, code) + 1;
    }
}

static void look_at_terminal(struct report_arguments *arguments)
{
    struct winsize size;
    bool terminal = isatty(STDOUT_FILENO);

    arguments->options.colour =
        arguments->colour < 0 ? terminal && !getenv("NO_COLOR") : arguments->colour;
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        arguments->options.width = size.ws_col;
}

static int report_profile(const struct report_arguments *arguments, const struct profile *profile,
                          const struct transforms *transforms, struct error *error)
{
    struct view *view;
    int result = OK;

    if (arguments->lines)
        return report_lines(profile, transforms, arguments->lines, &arguments->options, stdout,
                            error);
    if (transforms_apply(profile, transforms, &view, error))
        return ERROR;
    if (arguments->function)
        result = report_function(view, arguments->function, &arguments->options, stdout, error);
    else if (arguments->tree)
        report_tree(view, &arguments->options, stdout);
    else
        report_flat(view, &arguments->options, stdout);
    view_free(view);
    return result;
}

static int report_file(struct report_arguments *arguments)
{
    const struct transforms *transforms = transform_arguments_finish(&arguments->transforms);
    struct profile *profile;
    struct error error;

    if (flame_read(arguments->input, &profile, &error))
        return cli_fail_error(&error);
    look_at_terminal(arguments);
    int result = report_profile(arguments, profile, transforms, &error);
    profile_free(profile);
    if (result != OK)
        return cli_fail("%s: %s", arguments->input, error.text);
    return cli_finish_output();
}

int command_report(int argc, char **argv)
{
    static const struct option options[] = {
        {"sort", required_argument, NULL, 's'},
        {"limit", required_argument, NULL, 'l'},
        {"tree", no_argument, NULL, 't'},
        {"min-percent", required_argument, NULL, 'm'},
        {"depth", required_argument, NULL, 'd'},
        {"function", required_argument, NULL, 'f'},
        {"lines", required_argument, NULL, 'L'},
        {"json", no_argument, NULL, 'j'},
        {"colour", required_argument, NULL, 'c'},
        {"color", required_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        TRANSFORM_OPTIONS,
        {0},
    };
    struct report_arguments arguments = {
        .options = {.limit = 30, .least_percent = 0.5, .most_depth = 50},
        .colour = -1,
    };
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":h", options, NULL)) != -1)
        status = parse_option(&arguments, argv, code);
    if (status) {
        status -= 1;
    } else if (argc - optind != 1) {
        status = cli_fail("report: needs one FILE; see trueflame report --help");
    } else {
        arguments.input = argv[optind];
        status = report_file(&arguments);
    }
    transform_arguments_free(&arguments.transforms);
    return status;
}
