/*
 * export.c: `trueflame export FILE -f FORMAT [-o OUT]`: the profile for other tools.
 */
#include "cli/command.h"
#include "cli/transform_options.h"
#include "common/memory.h"
#include "common/output.h"
#include "formats/formats.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct export_format *const formats[] = {
    &format_folded,  &format_pprof, &format_speedscope, &format_callgrind,
    &format_firefox, &format_svg,   &format_html,       &format_json,
};

#define FORMAT_COUNT (sizeof formats / sizeof *formats)

struct export_arguments {
    const struct export_format *format;
    const char *input, *output;
    struct export_options options;
    struct transform_arguments transforms;
};

static int print_help(void)
{
    fputs("trueflame export FILE -f FORMAT [-o OUT] [options]\n\n"
          "Writes the profile for another tool, to OUT or standard output.\n\n",
          stdout);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        printf("  -f %-24s%s\n", formats[i]->name, formats[i]->summary);
    fputs("\n  -o OUT                     the file to write\n"
          "  --frames=name|full|raw     folded: names, with objects, or addresses\n"
          "  --annotate                 folded: mark inlined frames with _[i]\n"
          "  --embed-source             html: put the source files that ran into the page\n\n",
          stdout);
    fputs(transform_help, stdout);
    return 0;
}

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    return NULL;
}

/* `view` NULL: the format makes its own of the profile. */
static int write_view(const struct export_arguments *arguments, const struct view *view,
                      const struct profile *profile, struct error *error)
{
    const struct export_format *format = arguments->format;
    struct output output;

    if (output_open(&output, arguments->output, error))
        return ERROR;
    int result = view ? format->write(view, &arguments->options, output.stream, error)
                      : format->write_profile(profile, &arguments->transforms.transforms,
                                              &arguments->options, output.stream, error);
    if (result != OK) {
        output_discard(&output);
        return ERROR;
    }
    return output_commit(&output, error);
}

static int export_file(struct export_arguments *arguments)
{
    struct transforms transforms = *transform_arguments_finish(&arguments->transforms);
    struct profile *profile;
    struct view *view = NULL;
    struct error error;

    if (flame_read(arguments->input, &profile, &error))
        return cli_fail_error(&error);
    const char *command = profile_string(profile, profile->meta.command);
    arguments->options.title = *command ? command : arguments->input;
    /* Recursion is folded by function, and callers are turned round by function. */
    transforms.choice.by_line =
        arguments->format->by_line && !transforms.fold_recursion && !transforms.invert;
    int result = OK;
    if (!arguments->format->write_profile)
        result = transforms_apply(profile, &transforms, &view, &error);
    if (result == OK && arguments->format->long_paths)
        result = cli_check_paths(view, arguments->format->name, &error);
    if (result != OK)
        cli_fail("%s: %s", arguments->input, error.text);
    else if ((result = write_view(arguments, view, profile, &error)) != OK)
        cli_fail_error(&error);
    view_free(view);
    profile_free(profile);
    return result == OK ? 0 : EXIT_BAD_INPUT;
}

/* 0, or the exit status plus 1: there is nothing more to do. */
static int parse_option(struct export_arguments *arguments, char **argv, int code)
{
    static const char *const frames_styles[] = {"name", "full", "raw", NULL};
    int result = transform_option(&arguments->transforms, code, optarg), chosen = 0;

    if (result <= 0)
        return result == OK ? 0 : EXIT_BAD_INPUT + 1;
    switch (code) {
    case 'f':
        arguments->format = find_format(optarg);
        if (arguments->format)
            return 0;
        return cli_fail("export: unknown format '%s'; see trueflame export --help", optarg) + 1;
    case 'o':
        arguments->output = optarg;
        return 0;
    case 'F':
        if (cli_parse_choice("--frames", optarg, frames_styles, &chosen))
            return EXIT_BAD_INPUT + 1;
        arguments->options.frames = (enum frames_style)chosen;
        return 0;
    case 'a':
        arguments->options.annotate = true;
        return 0;
    case 's':
        arguments->options.embed_source = true;
        return 0;
    case 'h':
        return print_help() + 1;
    default:
        return cli_fail_option("export", argv, code) + 1;
    }
}

int command_export(int argc, char **argv)
{
    static const struct option options[] = {
        {"format", required_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'},
        {"frames", required_argument, NULL, 'F'},
        {"annotate", no_argument, NULL, 'a'},
        {"embed-source", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        TRANSFORM_OPTIONS,
        {0},
    };
    struct export_arguments arguments = {0};
    int code, status = 0;

    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, ":f:o:h", options, NULL)) != -1)
        status = parse_option(&arguments, argv, code);
    if (status) {
        status -= 1;
    } else if (argc - optind != 1 || !arguments.format) {
        status = cli_fail("export: needs one FILE and -f FORMAT; see trueflame export --help");
    } else {
        arguments.input = argv[optind];
        if (arguments.options.frames != FRAMES_NAME) /* addresses show */
            arguments.transforms.transforms.choice.split_copies = true;
        if (arguments.options.frames == FRAMES_RAW) /* inlined functions have no address */
            arguments.transforms.transforms.choice.no_inline = true;
        status = export_file(&arguments);
    }
    transform_arguments_free(&arguments.transforms);
    return status;
}
