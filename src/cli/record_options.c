#include "cli/command.h"
#include "cli/record.h"
#include "common/memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "trueflame record [options] [--] COMMAND [ARGS...]\n\n"
    "Runs COMMAND and counts every instruction it executes, by full call path.\n"
    "  -o FILE                  the profile to write (NAME.flame, NAME the program's)\n"
    "  --engine=auto|native|valgrind|riscv\n"
    "                           what runs the program (auto: native where it can, else\n"
    "                           valgrind; RISC-V guests: riscv)\n"
    "  --start=on|off           off: record nothing until the program asks for it\n"
    "  --skip-object=GLOB       charge code of these objects to their nearest caller (repeatable)\n"
    "  --skip-function=GLOB     likewise for functions\n"
    "  --detail=line|function   line: lines and inlined frames exact (default)\n"
    "  --tail-calls=replace|keep\n"
    "                           keep: show the function that made a tail call too\n"
    "  --children=yes|no        record the processes that the program starts (default yes)\n"
    "  --budget=N               stop after N instructions, exactly\n"
    "  --checkpoint=N           rewrite the profile about every N instructions\n"
    "  --max-contexts=N         fold recursion beyond N call paths\n"
    "  --raw                    no names: addresses only, for `trueflame symbolize`\n"
    "  --repeatable             fixed environment, randomness, clock, processor,\n"
    "                           addresses and order of threads\n"
    "  --python=auto|off|trampoline\n"
    "                           how Python functions become frames: watched, without touching\n"
    "                           the program (auto), not at all, or by trampolines. How they are\n"
    "                           shown is for report, view, export and diff to say\n"
    "  --node                   Node and what it starts: JavaScript functions become frames\n"
    "  --quiet                  say nothing\n"
    "  --input=FILE             riscv: the guest's private input\n"
    "  --output-file=FILE       riscv: where its public output goes\n"
    "  --abi=auto|linux|lambda  riscv: what the guest expects of its surroundings\n";

enum record_option {
    OPTION_ENGINE = 256,
    OPTION_START,
    OPTION_SKIP_OBJECT,
    OPTION_SKIP_FUNCTION,
    OPTION_DETAIL,
    OPTION_TAIL_CALLS,
    OPTION_CHILDREN,
    OPTION_BUDGET,
    OPTION_CHECKPOINT,
    OPTION_MAX_CONTEXTS,
    OPTION_RAW,
    OPTION_REPEATABLE,
    OPTION_QUIET,
    OPTION_INPUT,
    OPTION_OUTPUT_FILE,
    OPTION_ABI,
    OPTION_PYTHON,
    OPTION_NODE,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"start", required_argument, NULL, OPTION_START},
    {"skip-object", required_argument, NULL, OPTION_SKIP_OBJECT},
    {"skip-function", required_argument, NULL, OPTION_SKIP_FUNCTION},
    {"detail", required_argument, NULL, OPTION_DETAIL},
    {"tail-calls", required_argument, NULL, OPTION_TAIL_CALLS},
    {"children", required_argument, NULL, OPTION_CHILDREN},
    {"budget", required_argument, NULL, OPTION_BUDGET},
    {"checkpoint", required_argument, NULL, OPTION_CHECKPOINT},
    {"max-contexts", required_argument, NULL, OPTION_MAX_CONTEXTS},
    {"raw", no_argument, NULL, OPTION_RAW},
    {"repeatable", no_argument, NULL, OPTION_REPEATABLE},
    {"quiet", no_argument, NULL, OPTION_QUIET},
    {"input", required_argument, NULL, OPTION_INPUT},
    {"output-file", required_argument, NULL, OPTION_OUTPUT_FILE},
    {"abi", required_argument, NULL, OPTION_ABI},
    {"python", required_argument, NULL, OPTION_PYTHON},
    {"node", no_argument, NULL, OPTION_NODE},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

/* The place of optarg among `words`, which are separated by '|'; or a message and -1. */
static int choose(const char *option, const char *words)
{
    size_t length = strlen(optarg);
    int place = 0;

    for (const char *at = words; *at; place++) {
        const char *end = strchrnul(at, '|');
        if ((size_t)(end - at) == length && !strncmp(at, optarg, length))
            return place;
        at = *end ? end + 1 : end;
    }
    cli_fail("record: %s=%s: not one of %s", option, optarg, words);
    return -1;
}

static int choose_into(bool *flag, const char *option, const char *words)
{
    int place = choose(option, words);

    *flag = place == 1;
    return place < 0 ? EXIT_BAD_INPUT : OK;
}

static void add_pattern(const char ***patterns, size_t *count)
{
    *patterns = memory_resize(*patterns, (*count + 1) * sizeof **patterns);
    (*patterns)[(*count)++] = optarg;
}

enum engine_choice { ENGINE_AUTO, ENGINE_NATIVE, ENGINE_VALGRIND, ENGINE_RISCV };

static int parse_option(int code, char **argv, struct record_options *options, int *engine)
{
    switch (code) {
    case 'o':
        options->output = optarg;
        return OK;
    case OPTION_ENGINE:
        *engine = choose("--engine", "auto|native|valgrind|riscv");
        return *engine < 0 ? EXIT_BAD_INPUT : OK;
    case OPTION_START:
        return choose_into(&options->start_off, "--start", "on|off");
    case OPTION_SKIP_OBJECT:
        add_pattern(&options->skip_objects, &options->skip_object_count);
        return OK;
    case OPTION_SKIP_FUNCTION:
        add_pattern(&options->skip_functions, &options->skip_function_count);
        return OK;
    case OPTION_DETAIL:
        return choose_into(&options->line_detail, "--detail", "function|line");
    case OPTION_TAIL_CALLS:
        return choose_into(&options->keep_tail_calls, "--tail-calls", "replace|keep");
    case OPTION_CHILDREN:
        return choose_into(&options->follow_children, "--children", "no|yes");
    case OPTION_BUDGET:
        return cli_parse_number("--budget", optarg, &options->budget);
    case OPTION_CHECKPOINT:
        return cli_parse_number("--checkpoint", optarg, &options->checkpoint);
    case OPTION_MAX_CONTEXTS:
        return cli_parse_number("--max-contexts", optarg, &options->max_contexts);
    case OPTION_RAW:
        options->raw = true;
        return OK;
    case OPTION_REPEATABLE:
        options->repeatable = true;
        return OK;
    case OPTION_QUIET:
        options->quiet = true;
        return OK;
    case OPTION_INPUT:
        options->input = optarg;
        return OK;
    case OPTION_OUTPUT_FILE:
        options->output_file = optarg;
        return OK;
    case OPTION_ABI:
        options->abi = choose("--abi", "auto|linux|lambda");
        return (int)options->abi < 0 ? EXIT_BAD_INPUT : OK;
    case OPTION_PYTHON:
        if (!strcmp(optarg, "mixed") || !strcmp(optarg, "only") || !strcmp(optarg, "native"))
            return cli_fail("record: --python=%s is a way to look at a profile, which has all "
                            "frames: trueflame report --python=%s",
                            optarg, optarg);
        options->python = choose("--python", "auto|off|trampoline");
        return (int)options->python < 0 ? EXIT_BAD_INPUT : OK;
    case OPTION_NODE:
        options->node = true;
        return OK;
    default:
        return cli_fail_option("record", argv, code);
    }
}

static bool read_elf_header(const char *path, Elf64_Ehdr *header)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size_bytes = file < 0 ? -1 : read(file, header, sizeof *header);

    if (file >= 0)
        close(file);
    return size_bytes == sizeof *header && !memcmp(header->e_ident, ELFMAG, SELFMAG);
}

/* Where the shell would find the program; NULL if nowhere. */
static char *find_program(const char *name)
{
    struct stat status;

    if (strchr(name, '/'))
        return stat(name, &status) || S_ISDIR(status.st_mode) ? NULL
                                                              : memory_duplicate_string(name);
    const char *folders = getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin";
    while (*folders) {
        const char *end = strchrnul(folders, ':');
        char *path = memory_format("%.*s/%s", end == folders ? 1 : (int)(end - folders),
                                   end == folders ? "." : folders, name);
        if (!access(path, X_OK) && !stat(path, &status) && S_ISREG(status.st_mode))
            return path;
        free(path);
        folders = *end ? end + 1 : end;
    }
    /* A guest is not found by PATH, nor need it be executable: it is a file given to us. */
    Elf64_Ehdr header;
    return read_elf_header(name, &header) && header.e_machine == EM_RISCV
               ? memory_duplicate_string(name)
               : NULL;
}

static const struct engine *const engines[] = {
    [ENGINE_NATIVE] = &native_engine,
    [ENGINE_VALGRIND] = &valgrind_engine,
    [ENGINE_RISCV] = &riscv_engine,
};

static int choose_engine(struct record_options *options, int choice, const struct engine **engine,
                         const struct engine **otherwise)
{
    Elf64_Ehdr header;
    bool elf = read_elf_header(options->program, &header);
    bool riscv = elf && header.e_machine == EM_RISCV;

    *otherwise = NULL;
    if (choice == ENGINE_AUTO) {
        /* A script is run by an interpreter of this machine. */
        choice = riscv ? ENGINE_RISCV : ENGINE_NATIVE;
        *otherwise = choice == ENGINE_NATIVE ? &valgrind_engine : NULL;
    }
    if (choice == ENGINE_RISCV && !riscv)
        return cli_fail("%s: not a RISC-V program", options->program);
    if (choice != ENGINE_RISCV && elf &&
        (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] != ELFCLASS64))
        return cli_fail("%s: not an x86-64 program", options->program);
    *engine = engines[choice];
    const char *why = (*engine)->refuses(options);
    if (why)
        return cli_fail("%s: the %s engine cannot run it: %s", options->program, (*engine)->name,
                        why);
    return OK;
}

int record_parse(int argc, char **argv, struct record_options *options,
                 const struct engine **engine, const struct engine **otherwise, bool *done)
{
    int choice = ENGINE_AUTO;

    *done = false;
    *options = (struct record_options){.line_detail = true, .follow_children = true};
    opterr = 0;
    optind = 0;
    /* '+': the first word that is no option is the program, what follows is its own. */
    for (int code; (code = getopt_long(argc, argv, "+:o:", long_options, NULL)) != -1;) {
        if (code == OPTION_HELP) {
            fputs(help, stdout);
            *done = true;
            return cli_finish_output();
        }
        int status = parse_option(code, argv, options, &choice);
        if (status)
            return status;
    }
    if (optind == argc)
        return cli_fail("record: no command to run (see `trueflame record --help`)");
    options->command = argv + optind;
    options->program = find_program(argv[optind]);
    if (!options->program)
        return cli_fail("%s: no such program", argv[optind]);
    if (access(options->program, X_OK) && choice != ENGINE_RISCV) {
        Elf64_Ehdr header;
        if (!read_elf_header(options->program, &header) || header.e_machine != EM_RISCV)
            return cli_fail("%s: %s", options->program, strerror(errno));
    }
    if (options->raw && options->skip_function_count)
        return cli_fail("record: --skip-function needs names, which --raw does without: skip "
                        "after `trueflame symbolize`");
    if (!options->output)
        options->output = options->own_output = memory_format("%s.flame", basename(argv[optind]));
    return choose_engine(options, choice, engine, otherwise);
}

void record_options_free(struct record_options *options)
{
    free((void *)options->program);
    free(options->own_output);
    free(options->trampolines);
    free(options->skip_objects);
    free(options->skip_functions);
}
