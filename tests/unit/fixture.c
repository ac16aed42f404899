#include "unit.h"

#include "common/memory.h"
#include "profile/make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t fixture_module(struct profile *profile, const char *path, enum module_kind kind)
{
    *array_push(profile->modules, profile->module_count, profile->module_capacity) =
        (struct module){.path = profile_intern(profile, path),
                        .build_id = profile_intern(profile, kind == MODULE_FILE ? "c0ffee" : ""),
                        .kind = kind,
                        .symbols = SYMBOLS_DEBUG};
    return (uint32_t)profile->module_count - 1;
}

uint32_t fixture_function(struct profile *profile, uint32_t module, const char *name)
{
    uint64_t start = 0x1000 + 0x100 * profile->function_count;

    *array_push(profile->functions, profile->function_count, profile->function_capacity) =
        (struct function){.module = module,
                          .name = profile_intern(profile, name),
                          .symbol = profile_intern(profile, name),
                          .file = profile_intern(profile, "source.c"),
                          .line = (uint32_t)profile->function_count + 1,
                          .start = start,
                          .size = 0x80};
    return (uint32_t)profile->function_count - 1;
}

uint32_t fixture_inlined(struct profile *profile, uint32_t module, const char *name)
{
    uint32_t id = fixture_function(profile, module, name);

    profile->functions[id].only_inlined = 1;
    profile->functions[id].start = profile->functions[id].size = 0;
    return id;
}

uint32_t fixture_root(struct profile *profile)
{
    if (!profile->process_count) {
        *array_push(profile->processes, profile->process_count, profile->process_capacity) =
            (struct process){.parent = NONE, .command = profile_intern(profile, "app")};
        *array_push(profile->parts, profile->part_count, profile->part_capacity) = (struct part){0};
    }
    uint32_t module = fixture_module(profile, "(markers)", MODULE_MARKER);
    uint32_t function = fixture_function(profile, module, "(root)");
    profile->functions[function].kind = FUNCTION_ROOT;
    *array_push(profile->threads, profile->thread_count, profile->thread_capacity) =
        (struct thread){.ordinal = (uint32_t)profile->thread_count};
    uint32_t context = fixture_context(profile, NONE, function, NONE, 0, 0);
    *array_push(profile->roots, profile->root_count, profile->root_capacity) =
        (struct root){.context = context, .thread = (uint32_t)profile->thread_count - 1};
    return context;
}

uint32_t fixture_context(struct profile *profile, uint32_t parent, uint32_t function, uint32_t site,
                         uint64_t calls, uint64_t self_instructions)
{
    *array_push(profile->contexts, profile->context_count, profile->context_capacity) =
        (struct context){parent, function, site, calls, self_instructions};
    return (uint32_t)profile->context_count - 1;
}

uint32_t fixture_location(struct profile *profile, size_t count, const uint32_t *functions)
{
    struct location location = {(uint32_t)profile->location_frame_count, (uint32_t)count};

    for (size_t i = 0; i < count; i++)
        *array_push(profile->location_frames, profile->location_frame_count,
                    profile->location_frame_capacity) = (struct location_frame){
            functions[i], profile_intern(profile, "source.c"), 10 + (uint32_t)i};
    *array_push(profile->locations, profile->location_count, profile->location_capacity) = location;
    return (uint32_t)profile->location_count - 1;
}

uint32_t fixture_site(struct profile *profile, uint32_t module, uint64_t address, uint32_t location)
{
    *array_push(profile->sites, profile->site_count, profile->site_capacity) =
        (struct site){.module = module, .location = location, .next = NONE, .address = address};
    return (uint32_t)profile->site_count - 1;
}

uint32_t fixture_block(struct profile *profile, uint32_t module, uint64_t address,
                       uint32_t instructions, uint32_t location)
{
    *array_push(profile->blocks, profile->block_count, profile->block_capacity) = (struct block){
        .module = module,
        .instructions = instructions,
        .first_piece = (uint32_t)profile->piece_count,
        .piece_count = 1,
        .first_length = (uint32_t)profile->instruction_length_count,
        .address = address,
    };
    *array_push(profile->pieces, profile->piece_count, profile->piece_capacity) =
        (struct piece){location, instructions};
    for (uint32_t i = 0; i < instructions; i++)
        *array_push(profile->instruction_lengths, profile->instruction_length_count,
                    profile->instruction_length_capacity) = 3;
    return (uint32_t)profile->block_count - 1;
}

void fixture_count(struct profile *profile, uint32_t context, uint32_t block, uint64_t count)
{
    *array_push(profile->counts, profile->count_count, profile->count_capacity) =
        (struct block_count){context, block, count};
    profile->contexts[context].self_instructions += count * profile->blocks[block].instructions;
}

void fixture_check(const struct profile *profile)
{
    struct error error;

    if (profile_check(profile, "fixture", &error))
        fail_msg("%s", error.text);
}

struct profile *fixture_everything(void)
{
    struct profile *profile = profile_new();
    uint32_t app = fixture_module(profile, "/bin/app", MODULE_FILE);
    uint32_t lib = fixture_module(profile, "/lib/lib.so", MODULE_FILE);
    uint32_t main_function = fixture_function(profile, app, "main");
    uint32_t work = fixture_function(profile, app, "work");
    uint32_t helper = fixture_inlined(profile, app, "helper");
    uint32_t leaf = fixture_function(profile, lib, "leaf");
    uint32_t in_main = fixture_location(profile, 1, (uint32_t[]){main_function});
    uint32_t in_helper = fixture_location(profile, 2, (uint32_t[]){work, helper});
    uint32_t in_leaf = fixture_location(profile, 1, (uint32_t[]){leaf});
    uint32_t main_site = fixture_site(profile, app, 0x1010, in_main);
    uint32_t helper_site = fixture_site(profile, app, 0x1110, in_helper);
    uint32_t root = fixture_root(profile);
    uint32_t main_context = fixture_context(profile, root, main_function, NONE, 1, 0);
    uint32_t work_context = fixture_context(profile, main_context, work, main_site, 3, 0);
    uint32_t leaf_context = fixture_context(profile, work_context, leaf, helper_site, 6, 0);

    profile->meta = (struct meta){
        .engine = profile_intern(profile, "native"),
        .command = profile_intern(profile, "app --fast"),
        .exit_status = 3,
        .detail = DETAIL_LINE,
        .symbolized = 1,
        .unrecorded_instructions = 77,
        .date_seconds = 1700000000,
        .host = profile_intern(profile, "somewhere"),
        .pids = profile_intern(profile, "4711"),
    };
    fixture_count(profile, main_context, fixture_block(profile, app, 0x1000, 5, in_main), 1);
    fixture_count(profile, work_context, fixture_block(profile, app, 0x1100, 4, in_helper), 30);
    fixture_count(profile, leaf_context, fixture_block(profile, lib, 0x300, 7, in_leaf),
                  1000000000000ull);
    *array_push(profile->lines, profile->line_count, profile->line_capacity) =
        (struct line_count){leaf_context, 12, 7};
    *array_push(profile->repairs, profile->repair_count, profile->repair_capacity) =
        (struct repair){profile_intern(profile, "unwind"), 2};
    fixture_check(profile);
    return profile;
}

struct profile *fixture_paths(const char *paths)
{
    struct profile_maker maker;
    char *copy = memory_duplicate_string(paths), *at = copy;

    maker_start(&maker, "import:folded");
    for (char *line; (line = strsep(&at, "\n")) && *line;) {
        uint32_t context = 0;
        char *count = strrchr(line, ' ');
        *count++ = 0;
        for (char *frame; (frame = strsep(&line, ";"));)
            context = maker_context(&maker, context, maker_function(&maker, frame, ""));
        maker_add(&maker, context, strtoull(count, NULL, 10), 1);
    }
    free(copy);
    struct profile *profile = maker_finish(&maker);
    fixture_check(profile);
    return profile;
}

struct view *fixture_view(const struct profile *profile)
{
    struct view_choice choice = {0};
    struct view *view;
    struct error error;

    if (view_build(profile, &choice, &view, &error))
        fail_msg("%s", error.text);
    return view;
}

/* xorshift: the same numbers everywhere. */
static uint32_t next_random(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 33) % below;
}

enum { REAL_FUNCTIONS = 7, INLINED_FUNCTIONS = 4, SITES = 30, BLOCKS = 25, CONTEXTS = 60 };

static uint32_t random_location(struct profile *profile, uint64_t *state, uint32_t function,
                                const uint32_t *inlined)
{
    uint32_t chain[4] = {function};
    size_t count = 1 + next_random(state, 4);

    if (next_random(state, 8) == 0)
        return NONE;
    for (size_t i = 1; i < count; i++)
        chain[i] = inlined[next_random(state, INLINED_FUNCTIONS)];
    return fixture_location(profile, count, chain);
}

struct profile *fixture_random(unsigned seed)
{
    struct profile *profile = profile_new();
    uint64_t state = 88172645463325252ull + seed * 7919ull;
    uint32_t modules[2], functions[REAL_FUNCTIONS], inlined[INLINED_FUNCTIONS];
    uint32_t sites[SITES], site_function[SITES], blocks[BLOCKS], block_function[BLOCKS];
    char name[16];

    for (int i = 0; i < 20; i++)
        next_random(&state, 2);
    profile->meta.detail = DETAIL_LINE;
    modules[0] = fixture_module(profile, "/bin/app", MODULE_FILE);
    modules[1] = fixture_module(profile, "/lib/lib.so", MODULE_FILE);
    for (uint32_t i = 0; i < REAL_FUNCTIONS + INLINED_FUNCTIONS; i++) {
        bool real = i < REAL_FUNCTIONS;
        snprintf(name, sizeof name, real ? "f%u" : "g%u", real ? i : i - REAL_FUNCTIONS);
        if (real)
            functions[i] = fixture_function(profile, modules[i % 2], name);
        else
            inlined[i - REAL_FUNCTIONS] = fixture_inlined(profile, modules[i % 2], name);
    }
    for (uint32_t i = 0; i < SITES; i++) {
        site_function[i] = functions[next_random(&state, REAL_FUNCTIONS)];
        sites[i] = fixture_site(profile, modules[0], i * 8,
                                random_location(profile, &state, site_function[i], inlined));
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        block_function[i] = functions[next_random(&state, REAL_FUNCTIONS)];
        blocks[i] = fixture_block(profile, modules[0], i * 64, 1 + next_random(&state, 9),
                                  random_location(profile, &state, block_function[i], inlined));
    }
    fixture_root(profile);
    fixture_root(profile);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        uint32_t parent = next_random(&state, (uint32_t)profile->context_count);
        uint32_t site = NONE, pick = next_random(&state, SITES);
        for (uint32_t s = 0; s < SITES && site == NONE; s++)
            if (site_function[(s + pick) % SITES] == profile->contexts[parent].function)
                site = sites[(s + pick) % SITES];
        fixture_context(profile, parent, functions[next_random(&state, REAL_FUNCTIONS)], site,
                        1 + next_random(&state, 5), 0);
    }
    for (uint32_t c = 0; c < profile->context_count; c++)
        for (uint32_t b = 0; b < BLOCKS; b++)
            if (block_function[b] == profile->contexts[c].function && next_random(&state, 2))
                fixture_count(profile, c, blocks[b], 1 + next_random(&state, 100));
    fixture_check(profile);
    return profile;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *fixture_dump(const struct view *view)
{
    char **paths = memory_allocate(view->node_count * sizeof *paths);
    char **lines = memory_allocate(view->node_count * sizeof *lines);
    size_t line_count = 0, size_bytes = 0;
    char *text;
    FILE *stream = open_memstream(&text, &size_bytes);

    for (size_t i = 0; i < view->node_count; i++) {
        bool top = view->parent[i] == NONE;
        paths[i] = memory_format("%s%s%s%s", top ? "" : paths[view->parent[i]], top ? "" : ";",
                                 view->frames[view->frame[i]].name,
                                 view->flags[i] & VIEW_INLINED ? "[i]" : "");
        if (view->self[i] || view->calls[i])
            lines[line_count++] =
                memory_format("%s %" PRIu64 " %" PRIu64, paths[i], view->self[i], view->calls[i]);
    }
    if (line_count)
        qsort(lines, line_count, sizeof *lines, compare_texts);
    for (size_t i = 0; i < line_count; i++) {
        fprintf(stream, "%s\n", lines[i]);
        free(lines[i]);
    }
    for (size_t i = 0; i < view->node_count; i++)
        free(paths[i]);
    fclose(stream);
    free(paths);
    free(lines);
    return text;
}

void fixture_assert_same(const struct view *a, const struct view *b)
{
    char *text = fixture_dump(b);

    fixture_assert_dump(a, text);
    free(text);
}

void fixture_assert_dump(const struct view *view, const char *expected)
{
    char *text = fixture_dump(view);

    if (strcmp(text, expected))
        fail_msg("got\n%sinstead of\n%s", text, expected);
    free(text);
}
