/*
 * view.c: `trueflame view FILE [-o FILE.html]`: the profile as one page, opened where there is
 * something to open it in.
 */
#include "cli/command.h"
#include "cli/transform_options.h"
#include "common/memory.h"
#include "common/output.h"
#include "formats/formats.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
    "trueflame view FILE [-o FILE.html] [options]\n\n"
    "Writes the profile as one self-contained page and opens it, where there is a browser.\n\n"
    "  -o FILE.html               the page to write (FILE with .html for .flame)\n"
    "  --embed-source             put the source files that ran into the page\n"
    "  --open=auto|yes|no         open it in a browser (auto: on a terminal, with a display)\n\n";

enum opening { OPEN_AUTO, OPEN_YES, OPEN_NO };

struct view_arguments {
    const char *input;
    char *output;
    enum opening opening;
    struct export_options options;
    struct transform_arguments transforms;
};

/* app.flame -> app.html, anything else -> anything else.html */
static char *default_output(const char *input)
{
    size_t length = strlen(input);

    if (length > 6 && !strcmp(input + length - 6, ".flame"))
        length -= 6;
    return memory_format("%.*s.html", (int)length, input);
}

static int write_page(struct view_arguments *arguments, const struct profile *profile,
                      const struct transforms *transforms)
{
    const char *command = profile_string(profile, profile->meta.command);
    struct output output;
    struct error error;

    arguments->options.title = *command ? command : arguments->input;
    if (output_open(&output, arguments->output, &error))
        return cli_fail_error(&error);
    if (format_html.write_profile(profile, transforms, &arguments->options, output.stream,
                                  &error)) {
        output_discard(&output);
        return cli_fail("%s: %s", arguments->input, error.text);
    }
    return output_commit(&output, &error) == OK ? 0 : cli_fail_error(&error);
}

static bool should_open(const struct view_arguments *arguments)
{
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    bool has_display = (display && *display) || (wayland && *wayland);

    if (!strcmp(arguments->output, "-") || arguments->opening == OPEN_NO)
        return false;
    return arguments->opening == OPEN_YES || (has_display && isatty(STDERR_FILENO));
}

/* xdg-open in a session of its own, silent: what the browser says is not our output. */
static void open_page(const char *path)
{
    pid_t child = fork();

    if (child > 0)
        waitpid(child, NULL, 0);
    if (child != 0)
        return;
    if (fork() != 0) /* the grandchild belongs to init: nobody waits for a browser */
        _exit(0);
    setsid();
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && nothing >= 0; i++)
        dup2(nothing, i);
    execlp("xdg-open", "xdg-open", path, (char *)NULL);
    _exit(127);
}

static int view_file(struct view_arguments *arguments)
{
    const struct transforms *transforms = transform_arguments_finish(&arguments->transforms);
    struct profile *profile;
    struct error error;
    struct stat status;

    if (flame_read(arguments->input, &profile, &error))
        return cli_fail_error(&error);
    int result = write_page(arguments, profile, transforms);
    profile_free(profile);
    if (result || !strcmp(arguments->output, "-"))
        return result;
    if (stat(arguments->output, &status) == 0 && S_ISREG(status.st_mode))
        fprintf(stderr, "trueflame: wrote %s (%lld bytes)\n", arguments->output,
                (long long)status.st_size);
    if (should_open(arguments))
        open_page(arguments->output);
    return 0;
}

static int parse_opening(struct view_arguments *arguments, const char *value)
{
    static const char *const words[] = {"auto", "yes", "no"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(value, words[i])) {
            arguments->opening = (enum opening)i;
            return 0;
        }
    return cli_fail("--open=%s: must be one of auto, yes, no", value) + 1;
}

/* 0, or the exit status plus 1: there is nothing more to do. */
static int parse_option(struct view_arguments *arguments, char **argv, int code)
{
    int result = transform_option(&arguments->transforms, code, optarg);

    if (result <= 0)
        return result == OK ? 0 : EXIT_BAD_INPUT + 1;
    switch (code) {
    case 'o':
        free(arguments->output);
        arguments->output = memory_duplicate_string(optarg);
        return 0;
    case 's':
        arguments->options.embed_source = true;
        return 0;
    case 'O':
        return parse_opening(arguments, optarg);
    case 'h':
        fputs(help, stdout);
        fputs(transform_help, stdout);
        return 1;
    default:
        return cli_fail_option("view", argv, code) + 1;
    }
}

int command_view(int argc, char **argv)
{
    static const struct option options[] = {
        {"output", required_argument, NULL, 'o'},
        {"embed-source", no_argument, NULL, 's'},
        {"open", required_argument, NULL, 'O'},
        {"help", no_argument, NULL, 'h'},
        TRANSFORM_OPTIONS,
        {0},
    };
    struct view_arguments arguments = {0};
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":o:h", options, NULL)) != -1)
        status = parse_option(&arguments, argv, code);
    if (status) {
        status -= 1;
    } else if (argc - optind != 1) {
        status = cli_fail("view: needs one FILE; see trueflame view --help");
    } else {
        arguments.input = argv[optind];
        if (!arguments.output)
            arguments.output = default_output(arguments.input);
        status = view_file(&arguments);
    }
    free(arguments.output);
    transform_arguments_free(&arguments.transforms);
    return status;
}
