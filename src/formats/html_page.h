/*
 * html_page.h: the tables of a page while they are filled, and the page written. html.c has their
 * meaning and order. Everything is interned: a text, module or function is in the page once.
 */
#ifndef TRUEFLAME_HTML_PAGE_H
#define TRUEFLAME_HTML_PAGE_H

#include "common/map.h"
#include "formats/html_bytes.h"
#include "profile/diff.h"
#include "profile/view.h"

enum page_column {
    PAGE_CLIMB,
    PAGE_FRAME,
    PAGE_SELF,
    PAGE_CALLS,
    PAGE_OLD_SELF,
    PAGE_OLD_CALLS,
    PAGE_PRESENCE,
    PAGE_COLUMNS,
};

/* A table as its columns, each a run of numbers; at most five. */
struct page_table {
    size_t count;
    struct html_bytes columns[5];
};

struct page {
    bool is_diff;
    struct profile *strings; /* only its string table is used */
    struct html_bytes meta;
    size_t meta_count;
    struct page_table modules, functions, processes, threads, parts, roots, lines;
    struct html_bytes nodes[PAGE_COLUMNS];
    struct html_bytes sources;
    size_t source_count;
    struct map module_of;   /* path and kind to module */
    struct map function_of; /* function of the profile to function of the page */
    struct map made_up_of;  /* name, module and kind to function, for frames of no function */
};

void page_start(struct page *page, bool is_diff);
void page_free(struct page *page);

uint32_t page_string(struct page *page, const char *text);
void page_meta(struct page *page, const char *key, const char *value);
void page_meta_number(struct page *page, const char *key, uint64_t value);

/* Adds a row of `count` numbers. */
void page_row(struct page_table *table, const uint64_t *numbers, size_t count);
#define PAGE_ROW(table, ...)                                                                       \
    page_row((table), (const uint64_t[]){__VA_ARGS__},                                             \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The page's module with this path; `note` counts when it is new. */
uint32_t page_module(struct page *page, const char *path, uint8_t kind, const char *note);

/* The page's function for a frame of `view`. */
uint32_t page_function(struct page *page, const struct view *view, uint32_t frame);

/* One root: the subtrees of the children of `top` (NONE: of everything), as a tree below the
 * thread itself. `diff` NULL: `view` has all the counts. */
struct view_links;
void page_root(struct page *page, const struct view *view, const struct view_links *links,
               uint32_t top, const struct diff *diff, uint32_t thread, uint32_t part);

void page_write(const struct page *page, FILE *stream);

#endif
