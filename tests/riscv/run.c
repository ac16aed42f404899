/*
 * riscv_run.c: runs a RISC-V program with the library alone and says how many instructions it had.
 *
 *     riscv-run [--abi=linux|lambda] [--input=FILE] [--output-file=FILE] [--budget=N]
 *               [--embedded] PROGRAM ARGS...
 *
 * --embedded: as in a process that is not the guest's own. The count goes to standard error, or to
 * the file that RISCV_RUN_COUNT names.
 */
#include "engines/riscv/riscv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    struct riscv_options options;
    uint64_t budget;
};

static bool take(const char *argument, const char *name, const char **value)
{
    size_t length = strlen(name);

    if (strncmp(argument, name, length))
        return false;
    *value = argument + length;
    return true;
}

static int parse(struct command *command, int count, char **arguments)
{
    const char *value;
    int at = 1;

    for (; at < count && !strncmp(arguments[at], "--", 2); at++) {
        if (take(arguments[at], "--abi=", &value))
            command->options.abi = !strcmp(value, "lambda") ? RISCV_ABI_LAMBDA : RISCV_ABI_LINUX;
        else if (take(arguments[at], "--input=", &value))
            command->options.input_path = value;
        else if (take(arguments[at], "--output-file=", &value))
            command->options.output_path = value;
        else if (take(arguments[at], "--budget=", &value))
            command->budget = strtoull(value, NULL, 10);
        else if (!strcmp(arguments[at], "--embedded"))
            command->options.owns_process = false;
        else
            return -1;
    }
    if (at == count)
        return -1;
    command->options.path = arguments[at];
    command->options.arguments = (const char *const *)arguments + at;
    return 0;
}

static void print_note(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "note: %s\n", text);
}

static void print_count(const struct riscv_state *state)
{
    const char *path = getenv("RISCV_RUN_COUNT");
    FILE *file = path ? fopen(path, "w") : stderr;

    fprintf(file, "%llu\n", (unsigned long long)state->instructions);
    if (path)
        fclose(file);
    if (state->message[0])
        fprintf(stderr, "%s\n", state->message);
}

extern char **environ;

int main(int count, char **arguments)
{
    struct command command = {.budget = UINT64_MAX,
                              .options = {.note = print_note, .owns_process = true}};
    struct error error;

    if (parse(&command, count, arguments)) {
        fprintf(stderr, "usage: riscv-run [options] PROGRAM ARGS...\n");
        return 2;
    }
    unsetenv("RISCV_RUN_PASS");
    command.options.variables = getenv("RISCV_RUN_COUNT") ? NULL : (const char *const *)environ;
    struct riscv_machine *machine = riscv_create(&command.options, &error);
    if (!machine) {
        fprintf(stderr, "riscv-run: %s\n", error.text);
        return 2;
    }
    enum riscv_ending ending = riscv_run(machine, command.budget);
    const struct riscv_state *state = riscv_state(machine);
    int status = ending == RISCV_SIGNALLED ? 128 + state->exit_status : state->exit_status;
    print_count(state);
    if (riscv_write_output(machine, &error)) {
        fprintf(stderr, "riscv-run: %s\n", error.text);
        status = 2;
    }
    riscv_destroy(machine);
    return status;
}
