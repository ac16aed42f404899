/*
 * info.c: `trueflame info FILE [--json]`: what a profile holds, in totals.
 */
#include "cli/command.h"
#include "common/json.h"
#include "common/memory.h"
#include "config.h"
#include "formats/text.h"
#include "profile/profile.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] = "trueflame info FILE [--json]\n\n"
                           "Totals, parts, processes, threads, modules and repairs of a profile.\n"
                           "  --json   the same for programs\n";

static const char *const symbols_words[] = {
    [SYMBOLS_UNKNOWN] = "not looked at",
    [SYMBOLS_NONE] = "no symbols",
    [SYMBOLS_DYNAMIC] = "exported symbols only",
    [SYMBOLS_TABLE] = "symbols, no debug info",
    [SYMBOLS_DEBUG] = "debug info",
};

static const char *const symbols_keys[] = {
    [SYMBOLS_UNKNOWN] = "unknown", [SYMBOLS_NONE] = "none",   [SYMBOLS_DYNAMIC] = "dynamic",
    [SYMBOLS_TABLE] = "table",     [SYMBOLS_DEBUG] = "debug",
};

static const char *const module_keys[] = {
    [MODULE_FILE] = "file",     [MODULE_ANON] = "anon", [MODULE_MARKER] = "marker",
    [MODULE_PYTHON] = "python", [MODULE_JIT] = "jit",
};

static const char *const start_keys[] = {
    [PROCESS_FIRST] = "first",
    [PROCESS_FORK] = "fork",
    [PROCESS_EXEC] = "exec",
};

static const char *const ending_keys[] = {
    [ENDING_EXIT] = "exit",
    [ENDING_BUDGET] = "budget",
    [ENDING_CHECKPOINT] = "checkpoint",
    [ENDING_KILLED] = "killed",
};

/* Instructions by thread, part and module, and the kinds of functions: one pass each. */
struct totals {
    uint64_t all;
    uint64_t *threads, *parts, *modules;
};

static struct totals totals_of(const struct profile *profile)
{
    struct totals totals = {
        .threads = memory_allocate_zeroed(profile->thread_count, sizeof(uint64_t)),
        .parts = memory_allocate_zeroed(profile->part_count, sizeof(uint64_t)),
        .modules = memory_allocate_zeroed(profile->module_count, sizeof(uint64_t)),
    };
    uint32_t *root_rows = memory_allocate(profile->context_count * sizeof *root_rows);

    for (size_t i = 0; i < profile->root_count; i++)
        root_rows[profile->roots[i].context] = (uint32_t)i;
    for (size_t i = 0; i < profile->context_count; i++) {
        const struct context *context = &profile->contexts[i];
        if (context->parent != NONE)
            root_rows[i] = root_rows[context->parent];
        const struct root *root = &profile->roots[root_rows[i]];
        totals.all += context->self_instructions;
        totals.threads[root->thread] += context->self_instructions;
        totals.parts[root->part] += context->self_instructions;
        totals.modules[profile->functions[context->function].module] += context->self_instructions;
    }
    free(root_rows);
    return totals;
}

static void totals_free(struct totals *totals)
{
    free(totals->threads);
    free(totals->parts);
    free(totals->modules);
}

static const char *text(const struct profile *profile, uint32_t id)
{
    return profile_string(profile, id);
}

static void json_parts_and_runs(struct json *json, const struct profile *profile,
                                const struct totals *totals)
{
    json_key(json, "parts");
    json_array(json);
    for (size_t i = 0; i < profile->part_count; i++) {
        json_object(json);
        json_key_string(json, "name", text(profile, profile->parts[i].name));
        json_key_string(json, "label", text(profile, profile->parts[i].label));
        json_key_number(json, "instructions", totals->parts[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "processes");
    json_array(json);
    for (size_t i = 0; i < profile->process_count; i++) {
        const struct process *process = &profile->processes[i];
        json_object(json);
        json_key(json, "parent");
        if (process->parent == NONE)
            json_null(json);
        else
            json_number(json, process->parent);
        json_key_string(json, "command", text(profile, process->command));
        json_key_signed(json, "exit_status", process->exit_status);
        json_key_string(json, "started_by", start_keys[process->started_by]);
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "threads");
    json_array(json);
    for (size_t i = 0; i < profile->thread_count; i++) {
        json_object(json);
        json_key_number(json, "process", profile->threads[i].process);
        json_key_number(json, "ordinal", profile->threads[i].ordinal);
        json_key_string(json, "name", text(profile, profile->threads[i].name));
        json_key_number(json, "instructions", totals->threads[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void json_modules(struct json *json, const struct profile *profile,
                         const struct totals *totals)
{
    json_key(json, "modules");
    json_array(json);
    for (size_t i = 0; i < profile->module_count; i++) {
        const struct module *module = &profile->modules[i];
        json_object(json);
        json_key_string(json, "path", text(profile, module->path));
        json_key_string(json, "kind", module_keys[module->kind]);
        json_key_string(json, "build_id", text(profile, module->build_id));
        json_key_string(json, "symbols", symbols_keys[module->symbols]);
        json_key_string(json, "note", text(profile, module->note));
        json_key_number(json, "instructions", totals->modules[i]);
        json_end_object(json);
    }
    json_end_array(json);
    json_key(json, "repairs");
    json_object(json);
    for (size_t i = 0; i < profile->repair_count; i++)
        json_key_number(json, text(profile, profile->repairs[i].kind), profile->repairs[i].count);
    json_end_object(json);
}

static void print_json(const struct profile *profile, const struct totals *totals)
{
    const struct meta *meta = &profile->meta;
    struct json json;

    json_start(&json, stdout);
    json.pretty = true;
    json_object(&json);
    json_key_string(&json, "version", TRUEFLAME_VERSION);
    json_key_string(&json, "engine", text(profile, meta->engine));
    json_key_string(&json, "command", text(profile, meta->command));
    json_key_signed(&json, "exit_status", meta->exit_status);
    json_key_string(&json, "ended_by", ending_keys[meta->ended_early]);
    json_key_string(&json, "detail", meta->detail == DETAIL_LINE ? "line" : "function");
    json_key(&json, "symbolized");
    json_bool(&json, meta->symbolized);
    json_key_number(&json, "total_instructions", totals->all);
    json_key_number(&json, "unrecorded_instructions", meta->unrecorded_instructions);
    json_key_number(&json, "contexts", profile->context_count);
    json_key_number(&json, "folded_contexts", meta->folded_contexts);
    json_key_number(&json, "functions", profile->function_count);
    json_key_number(&json, "date_seconds", meta->date_seconds);
    json_key_string(&json, "host", text(profile, meta->host));
    json_key_string(&json, "pids", text(profile, meta->pids));
    json_parts_and_runs(&json, profile, totals);
    json_modules(&json, profile, totals);
    json_end_object(&json);
}

static void print_number(const char *label, uint64_t value)
{
    char grouped[GROUPED_BYTES];

    text_grouped(grouped, value);
    printf("%-14s%s\n", label, grouped);
}

static void print_name(const struct profile *profile, uint32_t id)
{
    text_write_printable(stdout, text(profile, id));
}

static void print_processes(const struct profile *profile, const struct totals *totals)
{
    char grouped[GROUPED_BYTES];

    for (size_t i = 0; i < profile->process_count; i++) {
        const struct process *process = &profile->processes[i];
        printf("%-14s%zu: ", i ? "" : "processes", i + 1);
        print_name(profile, process->command);
        if (process->parent != NONE)
            printf(" (%s from %u)", start_keys[process->started_by], process->parent + 1);
        if (process->exit_status >= 0)
            printf(", exit status %d", process->exit_status);
        putchar('\n');
    }
    for (size_t i = 0; i < profile->thread_count; i++) {
        const struct thread *thread = &profile->threads[i];
        text_grouped(grouped, totals->threads[i]);
        printf("%-14s%u.%u ", i ? "" : "threads", thread->process + 1, thread->ordinal);
        print_name(profile, thread->name);
        printf("%s%s instructions\n", *text(profile, thread->name) ? " " : "", grouped);
    }
}

static void print_parts(const struct profile *profile, const struct totals *totals)
{
    char grouped[GROUPED_BYTES];

    for (size_t i = 0; i < profile->part_count; i++) {
        const struct part *part = &profile->parts[i];
        printf("%-14s%s", i ? "" : "parts", *text(profile, part->name) ? "" : "(the run)");
        print_name(profile, part->name);
        printf(": %s instructions%s", text_grouped(grouped, totals->parts[i]),
               *text(profile, part->label) ? ", label " : "");
        print_name(profile, part->label);
        putchar('\n');
    }
}

static void print_modules(const struct profile *profile, const struct totals *totals)
{
    char grouped[GROUPED_BYTES];
    const char *heading = "modules";

    for (size_t i = 0; i < profile->module_count; i++) {
        const struct module *module = &profile->modules[i];
        if (module->kind == MODULE_MARKER)
            continue;
        const char *path = text(profile, module->path);
        printf("%-14s%s", heading, *path ? "" : "(unknown)");
        print_name(profile, module->path);
        printf(": %s instructions", text_grouped(grouped, totals->modules[i]));
        if (module->kind == MODULE_FILE && *path)
            printf(", %s", symbols_words[module->symbols]);
        if (*text(profile, module->build_id))
            printf(", build id %s", text(profile, module->build_id));
        if (*text(profile, module->note)) {
            fputs(" (", stdout);
            print_name(profile, module->note);
            putchar(')');
        }
        putchar('\n');
        heading = "";
    }
}

static void print_text(const struct profile *profile, const struct totals *totals)
{
    const struct meta *meta = &profile->meta;
    time_t date = (time_t)meta->date_seconds;
    char when[32] = "";
    struct tm broken;

    printf("%-14s", "command");
    print_name(profile, meta->command);
    putchar('\n');
    printf("%-14s%s, %s detail%s\n", "engine", text(profile, meta->engine),
           meta->detail == DETAIL_LINE ? "line" : "function",
           meta->symbolized ? "" : ", no names yet (trueflame symbolize)");
    if (meta->date_seconds && gmtime_r(&date, &broken) &&
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &broken))
        printf("%-14s%s on %s\n", "recorded", when, text(profile, meta->host));
    if (meta->exit_status >= 0)
        printf("%-14s%d\n", "exit status", meta->exit_status);
    if (meta->ended_early)
        printf("%-14s%s\n", "ended by", ending_keys[meta->ended_early]);
    print_number("instructions", totals->all);
    if (meta->unrecorded_instructions)
        print_number("unrecorded", meta->unrecorded_instructions);
    print_number("contexts", profile->context_count);
    if (meta->folded_contexts)
        printf("%-14s%" PRIu64 " contexts were folded into their recursion (--max-contexts)\n",
               "folded", meta->folded_contexts);
    print_number("functions", profile->function_count);
    print_parts(profile, totals);
    print_processes(profile, totals);
    print_modules(profile, totals);
    for (size_t i = 0; i < profile->repair_count; i++)
        printf("%-14s%s: %" PRIu64 "\n", i ? "" : "repairs",
               text(profile, profile->repairs[i].kind), profile->repairs[i].count);
    if (!profile->repair_count)
        printf("%-14snone\n", "repairs");
}

int command_info(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct profile *profile;
    struct error error;
    bool json = false;
    int code;

    opterr = 0;
    while ((code = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        switch (code) {
        case 'j':
            json = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return cli_fail_option("info", argv, code);
        }
    }
    if (argc - optind != 1)
        return cli_fail("info: needs one FILE; see trueflame info --help");
    if (flame_read(argv[optind], &profile, &error))
        return cli_fail_error(&error);
    struct totals totals = totals_of(profile);
    if (json)
        print_json(profile, &totals);
    else
        print_text(profile, &totals);
    totals_free(&totals);
    profile_free(profile);
    return cli_finish_output();
}
