#include "formats/html_source.h"

#include "common/file.h"
#include "common/memory.h"
#include "profile/lines.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST_SOURCE_BYTES (4u << 20) /* generated code beyond this helps nobody in a page */

struct page_line {
    uint32_t function, file, line; /* numbers of the page */
    uint64_t instructions;
};

struct page_lines {
    struct page_line *rows;
    size_t count, capacity;
};

static void add_line(struct page *page, struct page_lines *lines, const struct profile *profile,
                     uint32_t function, const struct source_line *line)
{
    uint32_t known = map_find(&page->function_of, function);

    if (known == MAP_ABSENT || line->instructions == 0)
        return;
    *array_push(lines->rows, lines->count, lines->capacity) = (struct page_line){
        .function = known,
        .file = page_string(page, profile_string(profile, line->file)),
        .line = line->line,
        .instructions = line->instructions,
    };
}

static void add_lines(struct page *page, struct page_lines *lines, const struct profile *profile,
                      struct function_lines *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        add_line(page, lines, profile, rows->rows[i].function, &rows->rows[i].line);
    function_lines_free(rows);
}

static struct page_lines collect(struct page *page, const struct profile *profile,
                                 enum python_mode mode)
{
    struct page_lines lines = {0};
    struct function_lines rows;

    function_lines_collect(&rows, profile);
    add_lines(page, &lines, profile, &rows);
    python_function_lines(&rows, profile, mode, NULL);
    add_lines(page, &lines, profile, &rows);
    return lines;
}

static int compare_lines(const void *a, const void *b)
{
    const struct page_line *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static void join_equal(struct page_lines *lines)
{
    size_t kept = 0;

    for (size_t i = 0; i < lines->count; i++) {
        if (kept && compare_lines(&lines->rows[kept - 1], &lines->rows[i]) == 0)
            lines->rows[kept - 1].instructions += lines->rows[i].instructions;
        else
            lines->rows[kept++] = lines->rows[i];
    }
    lines->count = kept;
}

static void embed_file(struct page *page, uint32_t file)
{
    const char *path = profile_string(page->strings, file);
    struct file_bytes text;
    struct error error;

    if (file_read_ordinary(&text, path, LARGEST_SOURCE_BYTES, &error))
        return;
    if (!memchr(text.bytes, 0, text.size_bytes)) {
        html_bytes_number(&page->sources, file);
        html_bytes_number(&page->sources, page_string(page, (const char *)text.bytes));
        page->source_count++;
    }
    file_free(&text);
}

/* Each file once, in the order of the lines; files have numbers below what was interned so far. */
static void embed_files(struct page *page, const struct page_lines *lines)
{
    size_t known = page->strings->string_count;
    uint8_t *seen = memory_allocate_zeroed(known, 1);

    for (size_t i = 0; i < lines->count; i++) {
        uint32_t file = lines->rows[i].file;
        if (!seen[file])
            embed_file(page, file);
        seen[file] = 1;
    }
    free(seen);
}

void html_put_lines(struct page *page, const struct profile *profile, enum python_mode mode,
                    bool embed)
{
    struct page_lines lines = collect(page, profile, mode);

    if (lines.count)
        qsort(lines.rows, lines.count, sizeof *lines.rows, compare_lines);
    join_equal(&lines);
    for (size_t i = 0; i < lines.count; i++) {
        const struct page_line *row = &lines.rows[i];
        PAGE_ROW(&page->lines, row->function, row->file, row->line, row->instructions);
    }
    if (embed)
        embed_files(page, &lines);
    free(lines.rows);
}
