/*
 * What the core has instead of a library: sorting, text, counters, numbers of sites and blocks.
 */
#include "core_script.h"

#include "core/raw.h"
#include "core/sort.h"
#include "core/text.h"
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

static bool less(const void *a, const void *b)
{
    return *(const uint32_t *)a < *(const uint32_t *)b;
}

static int compare(const void *a, const void *b)
{
    return less(a, b) ? -1 : less(b, a);
}

static void sorting_is_what_qsort_does(void **state)
{
    uint32_t ours[500], theirs[500];

    (void)state;
    for (unsigned count = 0; count < 500; count++) {
        for (unsigned i = 0; i < count; i++)
            ours[i] = theirs[i] = next_random() % (count % 3 ? 10 : 1000000);
        sort_items(ours, count, sizeof *ours, less);
        qsort(theirs, count, sizeof *theirs, compare);
        assert_memory_equal(ours, theirs, count * sizeof *ours);
    }
}

static void sorting_does_not_degrade(void **state)
{
    enum { COUNT = 300000 };
    uint32_t *items = malloc(COUNT * sizeof *items);

    (void)state;
    for (unsigned shape = 0; shape < 4; shape++) {
        for (uint32_t i = 0; i < COUNT; i++)
            items[i] = (uint32_t[]){i, COUNT - i, 7, i < COUNT / 2 ? i : COUNT - i}[shape];
        sort_items(items, COUNT, sizeof *items, less);
        for (uint32_t i = 1; i < COUNT; i++)
            assert_true(items[i - 1] <= items[i]);
    }
    free(items);
}

static void words(void **state)
{
    char out[21];

    (void)state;
    assert_int_equal(text_from_number(out, 0), 1);
    assert_string_equal(out, "0");
    assert_int_equal(text_from_number(out, UINT64_MAX), 20);
    assert_string_equal(out, "18446744073709551615");
    assert_true(text_equal("", "") && text_equal("ab", "ab"));
    assert_false(text_equal("ab", "abc") || text_equal("abc", "ab") || text_equal("a", "b"));
    assert_true(text_starts_with(".plt.got", ".plt") && text_starts_with("a", ""));
    assert_false(text_starts_with(".pl", ".plt"));
    assert_int_equal(text_length("abc"), 3);
}

/* ---- counters ---- */

/* As an engine counts. */
static void count(struct counts *counts, uint64_t key, uint64_t times)
{
    struct count *entry = &counts->cache[(key * TREE_MIX) >> (64 - COUNTS_CACHE_BITS)];

    if (entry->key != key)
        entry = counts_miss(counts, key);
    entry->count += times;
}

static void counters_that_push_each_other_out_are_kept(void **state)
{
    struct counts counts;
    const uint64_t keys = 400000; /* three times what the cache holds, six times the first table */
    uint64_t sum = 0, rows = 0;
    uint8_t *seen = calloc(keys, 1);

    (void)state;
    counts_init(&counts);
    for (unsigned round = 1; round <= 3; round++)
        for (uint64_t key = 0; key < keys; key++)
            count(&counts, key << 20 | 5, round * (key % 7 + 1));
    counts_flush(&counts);
    struct counts_walk walk = {0};
    for (const struct count_run *row; (row = counts_next(&counts, &walk));) {
        uint64_t key = row->key >> 20;
        assert_true(key < keys && !seen[key]);
        seen[key] = 1;
        assert_int_equal(row->count, 6 * (key % 7 + 1));
        sum += row->count;
        rows++;
    }
    assert_int_equal(rows, keys);
    assert_int_equal(counts.row_count, keys);
    assert_true(sum > 0);
    free(seen);
}

static void a_flush_leaves_nothing_to_count_twice(void **state)
{
    struct counts counts;

    (void)state;
    counts_init(&counts);
    count(&counts, 3, 10);
    counts_flush(&counts);
    counts_flush(&counts);
    count(&counts, 3, 1);
    counts_flush(&counts);
    assert_int_equal(counts.row_count, 1);
    struct counts_walk walk = {0};
    assert_int_equal(counts_next(&counts, &walk)->count, 11);
    assert_null(counts_next(&counts, &walk));
}

static uint64_t sum_of_rows(const struct counts *counts, uint64_t key, size_t *rows)
{
    uint64_t sum = 0;

    *rows = 0;
    struct counts_walk walk = {0};
    for (const struct count_run *row; (row = counts_next(counts, &walk));) {
        if (key < row->key || key >= row->key + row->blocks)
            continue;
        sum += row->count;
        ++*rows;
    }
    return sum;
}

static void late_rows_add_up(void **state)
{
    struct counts counts;
    size_t rows;

    (void)state;
    counts_init(&counts);
    counts_add(&counts, 3, 10);
    counts_add_late(&counts, 3, 20);
    counts_add_late(&counts, 4, 5);
    counts_add_late(&counts, 3, 1);
    counts_flush(&counts);
    assert_int_equal(sum_of_rows(&counts, 3, &rows), 31);
    assert_int_equal(rows, 3);
    assert_int_equal(counts_get(&counts, 3), 31);
    assert_int_equal(counts_get(&counts, 4), 5);
    assert_int_equal(sum_of_rows(&counts, 3, &rows), 31);
    assert_int_equal(rows, 1);
    /* More than there is room for, and numbers of every size. */
    const uint64_t most = COUNTS_LATE_BYTES / 2 + 7;
    for (uint64_t i = 0; i < most; i++)
        counts_add_late(&counts, 5 + i % 3, 1);
    for (unsigned shift = 0; shift < 63; shift++)
        counts_add_late(&counts, (uint64_t)1 << shift | 4, (uint64_t)1 << shift);
    counts_flush(&counts);
    assert_int_equal(sum_of_rows(&counts, 5, &rows) + sum_of_rows(&counts, 6, &rows) +
                         sum_of_rows(&counts, 7, &rows),
                     most + 1 + 2);
    assert_int_equal(sum_of_rows(&counts, (uint64_t)1 << 62 | 4, &rows), (uint64_t)1 << 62);
}

/* Neighbouring blocks that were counted as often are one run, up to a length; block 0 is in none. */
static void late_rows_of_neighbours_are_runs(void **state)
{
    static const struct {
        uint64_t block, count;
    } rows[] = {{0, 7}, {1, 7}, {2, 7}, {3, 7}, {4, 8}, {6, 8}, {5, 8}};
    static const struct count_run runs[] = {{0, 7, 1}, {1, 7, 3}, {4, 8, 1}, {6, 8, 1}, {5, 8, 1}};
    const uint64_t context = tree_key(9), other = tree_key(10);
    const struct count_run *run;
    struct counts counts;

    (void)state;
    counts_init(&counts);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        counts_add_late(&counts, context + rows[i].block, rows[i].count);
    for (uint64_t block = 1; block <= 2 * RAW_RUN_MOST + 1; block++)
        counts_add_late(&counts, other + block, 3);
    struct counts_walk walk = {0};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run = counts_next(&counts, &walk);
        assert_int_equal(run->key, context + runs[i].key);
        assert_int_equal(run->count, runs[i].count);
        assert_int_equal(run->blocks, runs[i].blocks);
    }
    for (uint64_t block = 1; block <= 2 * RAW_RUN_MOST + 1; block += RAW_RUN_MOST) {
        run = counts_next(&counts, &walk);
        assert_int_equal(run->key, other + block);
        assert_int_equal(run->blocks, block < 2 * RAW_RUN_MOST ? RAW_RUN_MOST : 1);
    }
    assert_null(counts_next(&counts, &walk));
}

/* No row says less than nothing. */
static void what_is_taken_back_late_is_joined_with_its_row(void **state)
{
    struct counts counts;
    size_t rows;

    (void)state;
    counts_init(&counts);
    counts_add_late(&counts, 3, 10);
    counts_add_late(&counts, 3, (uint64_t)-1);
    counts_flush(&counts);
    assert_int_equal(sum_of_rows(&counts, 3, &rows), 9);
    assert_int_equal(rows, 1);
}

/* An engine with a cache of its own adds to the rows, and a row says what it is of. */
static void rows_know_their_context_and_block(void **state)
{
    enum { CONTEXTS = 3000, BLOCKS = 40 };
    struct counts counts;

    (void)state;
    counts_init(&counts);
    for (uint32_t context = 0; context < CONTEXTS; context++)
        for (uint32_t block = 1; block <= BLOCKS; block++)
            counts_add(&counts, tree_key(context) + block, context + 1000 * block);
    assert_int_equal(counts.row_count, CONTEXTS * BLOCKS);
    struct counts_walk walk = {0};
    for (const struct count_run *row; (row = counts_next(&counts, &walk));)
        assert_int_equal(row->count,
                         counts_key_context(row->key) + 1000 * counts_key_block(row->key));
    assert_int_equal(counts_get(&counts, tree_key(7) + 2), 2007);
    assert_int_equal(counts_get(&counts, tree_key(7) + BLOCKS + 1), 0);
}

/* ---- numbers ---- */

static void sites_have_one_number_each(void **state)
{
    enum { COUNT = 50000 };
    struct machine *machine = machine_new(&(struct core_options){0}, false);
    struct tree *tree = &machine_core(machine)->tree;
    struct code_module one = {0}, other = {0};
    uint32_t *numbers = malloc(COUNT * sizeof *numbers);

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = tree_site(tree, 0x1000 + 4 * i, &one);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(tree_site(tree, 0x1000 + 4 * i, &one), numbers[i]);
        assert_int_equal(tree->sites[numbers[i]].address, 0x1000 + 4 * i);
        assert_true(numbers[i] != 0 && (!i || numbers[i] != numbers[i - 1]));
    }
    /* mapped anew, the address is another site */
    assert_int_not_equal(tree_site(tree, 0x1000, &other), numbers[0]);
    assert_ptr_equal(tree->sites[numbers[0]].module, &one);
    free(numbers);
    machine_free(machine);
}

/* Generated code calls one function from so many places: none takes longer to find than another. */
static void children_by_sixty_thousand_sites(void **state)
{
    enum { COUNT = 60000, TIMES = 20 };
    struct machine *machine = machine_new(&(struct core_options){.line_detail = true}, true);
    struct tree *tree = &machine_core(machine)->tree;
    struct code_module module = {.has_lines = true};
    struct code_function caller = {.module = &module}, callee = {.module = &module};
    struct context *root = tree_new_root(tree, &caller);
    struct context **children = malloc(COUNT * sizeof *children);

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        children[i] = tree_child_of(tree, root, tree_site(tree, 0x1000 + 5 * i, &module), &callee);
    for (uint32_t i = 0; i < TIMES * COUNT; i++) {
        uint32_t site = tree_site(tree, 0x1000 + 5 * (i % COUNT), &module);
        assert_ptr_equal(tree_child_of(tree, root, site, &callee), children[i % COUNT]);
        assert_int_equal(children[i % COUNT]->site, site);
    }
    free(children);
    machine_free(machine);
}

static void blocks_have_one_number_each(void **state)
{
    enum { COUNT = 20000 };
    struct machine *machine = machine_new(&(struct core_options){0}, false);
    struct core *core = machine_core(machine);
    struct code_module one = {0}, other = {0};
    static const uint8_t lengths[] = {1, 2, 3}, others[] = {1, 3, 2};
    uint32_t *numbers = malloc(COUNT * sizeof *numbers);

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        numbers[i] = core_block(core, 0x1000 + 6 * i, &one, 3, lengths);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(core_block(core, 0x1000 + 6 * i, &one, 3, lengths), numbers[i]);
        assert_int_equal(core->blocks[numbers[i]].address, 0x1000 + 6 * i);
    }
    /* the same place with other code, fewer instructions, in another module */
    uint32_t alike[] = {core_block(core, 0x1000, &one, 3, others),
                        core_block(core, 0x1000, &one, 2, lengths),
                        core_block(core, 0x1000, &other, 3, lengths)};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j <= i; j++)
            assert_int_not_equal(alike[i], j < i ? alike[j] : numbers[0]);
    free(numbers);
    machine_free(machine);
}

static void skip_patterns_add_up(void **state)
{
    struct machine *machine = machine_new(&(struct core_options){0}, false);
    struct core *core = machine_core(machine);
    char pattern[] = "a";

    (void)state;
    for (char c = 'a'; c <= 'z'; c++) {
        pattern[0] = c;
        core_skip_object(core, pattern);
    }
    assert_int_equal(core->skip_count, 26);
    for (char c = 'a'; c <= 'z'; c++)
        assert_int_equal(core->skip_objects[c - 'a'][0], c);
    machine_free(machine);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sorting_is_what_qsort_does),
        TEST(sorting_does_not_degrade),
        TEST(words),
        TEST(counters_that_push_each_other_out_are_kept),
        TEST(a_flush_leaves_nothing_to_count_twice),
        TEST(late_rows_add_up),
        TEST(late_rows_of_neighbours_are_runs),
        TEST(what_is_taken_back_late_is_joined_with_its_row),
        TEST(rows_know_their_context_and_block),
        TEST(sites_have_one_number_each),
        TEST(children_by_sixty_thousand_sites),
        TEST(blocks_have_one_number_each),
        TEST(skip_patterns_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
