/*
 * html.c: the viewer's page.
 *
 * The page is src/viewer, joined when the program is built, and between its two halves the
 * recording: base64 of a zlib stream of columns. Columns of varints, since most numbers are
 * small and equal things stand together: a million contexts take some 5 MB. The page decodes
 * them in a tenth of a second and needs no network, no server and no other file.
 *
 * The data, version 1. Numbers are LEB128 varints, 64 bits unsigned at most; a table is its count
 * of rows, then each column whole; texts are numbers of strings.
 *
 *   "TFPG" 1
 *   flags      1: a difference, with old counts
 *   strings    count, byte length of each, all their bytes (UTF-8 as the program had it)
 *   meta       count, (key, value) each: title, unit, then what the About box lists
 *   modules    path, kind (enum module_kind), note
 *   functions  name, module, kind (enum function_kind), file, line
 *   processes  command
 *   threads    process, ordinal, name
 *   parts      name, label
 *   roots      thread, part, number of nodes
 *   nodes      of all roots, one after the other, in preorder; the first of each root is the
 *              thread itself, not shown. No count: it is the roots' sum. Columns:
 *                climb     levels up from the node before to this one's parent: 0 is its child
 *                frame     function * 2 + (inlined ? 1 : 0)
 *                self      instructions
 *                calls
 *                old self, old calls, presence (enum diff_presence)    in a difference
 *   lines      function, file, line, instructions; sorted by function
 *   sources    count, (file, text) each, with --embed-source
 *
 * No two siblings have the same frame. Only functions that occur are there, numbered as they
 * occur. The same profile and transforms give the same bytes: nothing of date, host or pid.
 */
#include "common/memory.h"
#include "formats/diffs.h"
#include "formats/formats.h"
#include "formats/html_page.h"
#include "formats/html_source.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

static void put_facts(struct page *page, const struct profile *profile, const char *title)
{
    const struct meta *meta = &profile->meta;
    const char *engine = profile_string(profile, meta->engine);
    bool is_import = !strncmp(engine, "import", 6);

    page_meta(page, "title", title);
    page_meta(page, "unit", is_import ? "counts" : "instructions");
    page_meta(page, "command", profile_string(profile, meta->command));
    page_meta(page, "engine", engine);
    if (!is_import)
        page_meta_number(page, "exit status", (uint64_t)(uint32_t)meta->exit_status);
    page_meta(page, "detail", meta->detail == DETAIL_LINE ? "line" : "function");
    page_meta_number(page, "contexts", profile->context_count);
    if (meta->folded_contexts)
        page_meta_number(page, "contexts folded by --max-contexts", meta->folded_contexts);
    if (meta->unrecorded_instructions)
        page_meta_number(page, "ran while recording was off", meta->unrecorded_instructions);
    for (size_t i = 0; i < profile->repair_count; i++) {
        const struct repair *repair = &profile->repairs[i];
        char *key = memory_format("repaired: %s", profile_string(profile, repair->kind));
        page_meta_number(page, key, repair->count);
        free(key);
    }
    page_meta(page, "made by", "trueflame " TRUEFLAME_VERSION);
}

static void put_threads(struct page *page, const struct profile *profile)
{
    for (size_t i = 0; i < profile->process_count; i++)
        PAGE_ROW(&page->processes,
                 page_string(page, profile_string(profile, profile->processes[i].command)));
    for (size_t i = 0; i < profile->thread_count; i++) {
        const struct thread *thread = &profile->threads[i];
        PAGE_ROW(&page->threads, thread->process, thread->ordinal,
                 page_string(page, profile_string(profile, thread->name)));
    }
}

/* By frame of the view: the thread that a thread's frame stands for; to be freed. view_build makes
 * these frames in the order in which threads first occur among the roots of the part. */
static uint32_t *threads_of_frames(const struct profile *profile, const struct view *view,
                                   const char *part)
{
    uint32_t *threads = memory_allocate_zeroed(view->frame_count, sizeof *threads);
    uint8_t *seen = memory_allocate_zeroed(profile->thread_count, 1);
    size_t frame = profile->function_count;

    for (size_t i = 0; i < profile->root_count; i++) {
        const struct root *root = &profile->roots[i];
        const char *name = profile_string(profile, profile->parts[root->part].name);
        if (seen[root->thread] || (part && strcmp(part, name) != 0))
            continue;
        seen[root->thread] = 1;
        while (frame < view->frame_count && view->frames[frame].kind != FUNCTION_ROOT)
            frame++;
        if (frame < view->frame_count)
            threads[frame++] = root->thread;
    }
    free(seen);
    return threads;
}

/* One part: a root for each of its threads. */
static int put_part(struct page *page, const struct profile *profile,
                    const struct transforms *transforms, const char *part, const char *label,
                    struct error *error)
{
    struct transforms chosen = *transforms;
    struct view *view;
    uint32_t number = (uint32_t)page->parts.count;

    chosen.choice.part = part;
    chosen.choice.split_threads = true;
    if (transforms_apply(profile, &chosen, &view, error))
        return ERROR;
    struct view_links links = view_link(view);
    uint32_t *threads = threads_of_frames(profile, view, part);
    uint32_t top = links.first_child[view->node_count];
    PAGE_ROW(&page->parts, page_string(page, part ? part : ""), page_string(page, label));
    for (; top != NONE; top = links.next_sibling[top])
        page_root(page, view, &links, top, NULL, threads[view->frame[top]], number);
    free(threads);
    view_links_free(&links);
    view_free(view);
    return OK;
}

/* Parts of one name are one part, as --part=NAME has it. A function that one part lacks is no
 * reason to refuse --focus and --root: with these the parts are one. */
static bool is_first_of_name(const struct profile *profile, size_t part)
{
    for (size_t i = 0; i < part; i++)
        if (profile->parts[i].name == profile->parts[part].name)
            return false;
    return true;
}

static int put_parts(struct page *page, const struct profile *profile,
                     const struct transforms *transforms, struct error *error)
{
    if (transforms->choice.part || profile->part_count <= 1 || transforms->focus ||
        transforms->root)
        return put_part(page, profile, transforms, transforms->choice.part, "", error);
    for (size_t i = 0; i < profile->part_count; i++) {
        const struct part *part = &profile->parts[i];
        if (is_first_of_name(profile, i) &&
            put_part(page, profile, transforms, profile_string(profile, part->name),
                     profile_string(profile, part->label), error))
            return ERROR;
    }
    return OK;
}

static int html_write(const struct profile *profile, const struct transforms *transforms,
                      const struct export_options *options, FILE *stream, struct error *error)
{
    struct page page;
    int result;

    page_start(&page, false);
    put_facts(&page, profile, options->title);
    put_threads(&page, profile);
    result = put_parts(&page, profile, transforms, error);
    if (result == OK) {
        html_put_lines(&page, profile, transforms->python, options->embed_source);
        page_write(&page, stream);
    }
    page_free(&page);
    return result;
}

const struct export_format format_html = {
    .name = "html",
    .summary = "one self-contained page to look at in a browser",
    .write_profile = html_write,
};

static int html_write_diff(const struct diff *diff, const struct diff_options *options,
                           FILE *stream, struct error *error)
{
    struct page page;
    struct view_links links = view_link(diff->tree);
    char *title = memory_format("%s → %s", options->base_name, options->new_name);

    (void)error;
    page_start(&page, true);
    page_meta(&page, "title", title);
    page_meta(&page, "unit", "instructions");
    page_meta(&page, "before", options->base_name);
    page_meta(&page, "after", options->new_name);
    page_meta_number(&page, "instructions before", diff->base_sum);
    page_meta_number(&page, "instructions after", diff->new_sum);
    page_meta(&page, "made by", "trueflame " TRUEFLAME_VERSION);
    PAGE_ROW(&page.processes, 0);
    PAGE_ROW(&page.threads, 0, 1, 0);
    PAGE_ROW(&page.parts, 0, 0);
    page_root(&page, diff->tree, &links, NONE, diff, 0, 0);
    page_write(&page, stream);
    page_free(&page);
    view_links_free(&links);
    free(title);
    return OK;
}

const struct diff_format diff_html = {
    .name = "html",
    .summary = "one self-contained page: the union tree, and what changed most",
    .write = html_write_diff,
};
