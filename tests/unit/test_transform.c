/*
 * Transforms on hand-made trees, and their laws on random ones.
 */
#include "unit.h"

#include "common/memory.h"
#include "profile/make.h"
#include "profile/order.h"
#include <stdlib.h>
#include <string.h>

#define TREE                                                                                       \
    "main 1\n"                                                                                     \
    "main;lib 2\n"                                                                                 \
    "main;lib;work 4\n"                                                                            \
    "main;work 8\n"                                                                                \
    "start 16\n"                                                                                   \
    "start;lib;lib;work;lib 32\n"

static struct skip_rules skip_function(const char *const *pattern)
{
    return (struct skip_rules){.functions = pattern, .function_count = 1};
}

static void assert_skip(const char *tree, const char *pattern, const char *expected)
{
    struct profile *profile = fixture_paths(tree);
    struct view *view = fixture_view(profile);
    struct skip_rules rules = skip_function(&pattern);
    struct view *made = view_skip(view, &rules);

    fixture_assert_dump(made, expected);
    view_free(view);
    view_free(made);
    profile_free(profile);
}

static void skipped_cost_goes_to_the_caller_that_is_shown(void **state)
{
    (void)state;
    assert_skip(TREE, "lib",
                "main 3 1\n"
                "main;work 12 2\n"
                "start 16 1\n"
                "start;work 32 0\n");
}

static void without_a_caller_it_goes_to_skipped(void **state)
{
    (void)state;
    assert_skip(TREE, "main",
                "(skipped) 1 0\n"
                "lib 2 1\n"
                "lib;work 4 1\n"
                "start 16 1\n"
                "start;lib;lib;work;lib 32 1\n"
                "work 8 1\n");
}

static void everything_can_be_skipped(void **state)
{
    (void)state;
    assert_skip(TREE, "*", "(skipped) 63 0\n");
}

static void patterns_match_as_documented(void **state)
{
    (void)state;
    assert_true(rule_matches_object("libc.so*", "/usr/lib/libc.so.6"));
    assert_true(rule_matches_object("*/libc.so.6", "/usr/lib/libc.so.6"));
    assert_true(rule_matches_object("/usr/*", "/usr/lib/libc.so.6"));
    assert_false(rule_matches_object("lib", "/usr/lib/libc.so.6"));
    assert_false(rule_matches_object("lib/libc.so.6", "/usr/lib/libc.so.6"));
    assert_true(rule_matches_function("a::f", "a::f(int, void (*)(int)) const", ""));
    assert_true(rule_matches_function("a::f*", "a::f(int)", ""));
    assert_true(rule_matches_function("_ZN1a1fEi", "a::f(int)", "_ZN1a1fEi"));
    assert_false(rule_matches_function("a::g", "a::f(int)", "_ZN1a1fEi"));
    assert_true(rule_matches_function("Class.f", "py::Class.f:/usr/lib/app.py", ""));
    assert_true(rule_matches_function("py::*:*/app.py", "py::Class.f:/usr/lib/app.py", ""));
    assert_false(rule_matches_function("f", "py::Class.f:/usr/lib/app.py", ""));
    assert_false(rule_matches_function("", "(signal 11)", ""));
}

static void focus_keeps_paths_through_the_function(void **state)
{
    struct profile *profile = fixture_paths(TREE);
    struct view *view = fixture_view(profile), *made;
    struct error error;

    (void)state;
    assert_int_equal(view_focus(view, "work", &made, &error), OK);
    fixture_assert_dump(made, "(other) 19 0\n"
                              "main;lib;work 4 1\n"
                              "main;work 8 1\n"
                              "start;lib;lib;work;lib 32 1\n");
    view_free(made);
    assert_int_equal(view_focus(view, "nothing", &made, &error), ERROR);
    assert_string_equal(error.text, "--focus=nothing: no such function in the profile");
    view_free(view);
    profile_free(profile);
}

static void root_makes_outermost_calls_the_roots(void **state)
{
    struct profile *profile = fixture_paths(TREE);
    struct view *view = fixture_view(profile), *made;
    struct error error;

    (void)state;
    assert_int_equal(view_root(view, "lib", &made, &error), OK);
    fixture_assert_dump(made, "(other) 25 0\n"
                              "lib 2 1\n"
                              "lib;lib;work;lib 32 1\n"
                              "lib;work 4 1\n");
    view_free(made);
    view_free(view);
    profile_free(profile);
}

static void assert_fold(const char *tree, const char *expected)
{
    struct profile *profile = fixture_paths(tree);
    struct view *view = fixture_view(profile);
    struct view *made = view_fold_recursion(view);

    fixture_assert_dump(made, expected);
    view_free(view);
    view_free(made);
    profile_free(profile);
}

static void direct_recursion_folds(void **state)
{
    (void)state;
    assert_fold("a 1\na;a 2\na;a;a 4\na;a;b 8\n", "a 7 3\na;b 8 1\n");
}

static void mutual_recursion_folds(void **state)
{
    (void)state;
    assert_fold("a;b 1\na;b;a 2\na;b;a;b 4\na;b;a;c 8\na;b;c;b;d 16\n",
                "a 2 1\na;b 5 2\na;b;d 16 1\na;c 8 1\n");
}

/* After the call back to a, b is no longer on the path; after its return it is again. */
static void the_path_is_restored_after_a_fold(void **state)
{
    (void)state;
    assert_fold("a;b;a;c 1\na;b;c 2\na;b;c;b 4\n", "a;b 4 1\na;b;c 2 1\na;c 1 1\n");
}

static void inverted_leaves_are_roots(void **state)
{
    struct profile *profile = fixture_paths("a;b 1\na;c;b 2\nb 4\na 8\n");
    struct view *view = fixture_view(profile), *made;
    struct error error;

    (void)state;
    assert_int_equal(view_invert(view, &made, &error), OK);
    for (size_t i = 0; i < made->node_count; i++)
        made->calls[i] = 0;
    fixture_assert_dump(made, "a 8 0\nb 4 0\nb;a 1 0\nb;c;a 2 0\n");
    view_free(made);
    view_free(view);
    profile_free(profile);
}

static struct profile *python_profile(void)
{
    struct profile_maker maker;

    maker_start(&maker, "import:test");
    uint32_t main_function = maker_function(&maker, "main", "/usr/bin/python3.12");
    uint32_t evaluate = maker_function(&maker, "_PyEval_EvalFrameDefault", "/usr/bin/python3.12");
    uint32_t vector = maker_function(&maker, "_PyEval_Vector", "/usr/bin/python3.12");
    uint32_t list_sort = maker_function(&maker, "list_sort", "/usr/bin/python3.12");
    uint32_t impostor = maker_function(&maker, "_PyEval_Vector", "/usr/bin/other");
    uint32_t module = maker_function(&maker, "py::<module>:a.py", "a.py");
    uint32_t key = maker_function(&maker, "py::key:a.py", "a.py");
    maker.profile->functions[module].kind = FUNCTION_PYTHON;
    maker.profile->functions[key].kind = FUNCTION_PYTHON;

    uint32_t path[] = {main_function, vector, module,   evaluate, list_sort,
                       vector,        key,    evaluate, impostor};
    uint32_t context = 0;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        context = maker_context(&maker, context, path[i]);
        maker_add(&maker, context, 1ull << i, 1);
    }
    return maker_finish(&maker);
}

static void python_modes_keep_the_total(void **state)
{
    struct profile *profile = python_profile();
    struct view *view = fixture_view(profile);
    struct view *mixed = view_python(view, PYTHON_MIXED);
    struct view *only = view_python(view, PYTHON_ONLY);
    struct view *native = view_python(view, PYTHON_NATIVE);

    (void)state;
    fixture_assert_dump(
        mixed, "main 1 1\n"
               "main;_PyEval_Vector 2 1\n"
               "main;_PyEval_Vector;py::<module>:a.py 12 1\n"
               "main;_PyEval_Vector;py::<module>:a.py;list_sort 48 1\n"
               "main;_PyEval_Vector;py::<module>:a.py;list_sort;py::key:a.py 192 1\n"
               "main;_PyEval_Vector;py::<module>:a.py;list_sort;py::key:a.py;_PyEval_Vector 256 "
               "1\n");
    fixture_assert_dump(only, "(native) 3 0\n"
                              "py::<module>:a.py 60 1\n"
                              "py::<module>:a.py;py::key:a.py 448 1\n");
    fixture_assert_dump(native,
                        "main 1 1\n"
                        "main;_PyEval_Vector 6 1\n"
                        "main;_PyEval_Vector;_PyEval_EvalFrameDefault 8 1\n"
                        "main;_PyEval_Vector;_PyEval_EvalFrameDefault;list_sort 16 1\n"
                        "main;_PyEval_Vector;_PyEval_EvalFrameDefault;list_sort;_PyEval_Vector "
                        "96 1\n"
                        "main;_PyEval_Vector;_PyEval_EvalFrameDefault;list_sort;_PyEval_Vector;_"
                        "PyEval_EvalFrameDefault 128 1\n"
                        "main;_PyEval_Vector;_PyEval_EvalFrameDefault;list_sort;_PyEval_Vector;_"
                        "PyEval_EvalFrameDefault;_PyEval_Vector 256 1\n");
    view_free(mixed);
    view_free(only);
    view_free(native);
    view_free(view);
    profile_free(profile);
}

/* What a seed chooses to skip. */
static struct skip_rules random_rules(unsigned seed)
{
    static const char *const functions[] = {"f0", "f1", "g0", "f[23]", "g*", "f4", "g[12]", "f*"};
    static const char *const objects[] = {"lib.so"};

    return (struct skip_rules){
        .functions = &functions[seed % 7],
        .function_count = 1 + seed / 7 % 2,
        .objects = objects,
        .object_count = seed % 5 == 0,
    };
}

static struct view *view_bits(const struct profile *profile, int bits)
{
    struct view_choice choice = {.no_inline = bits & 1, .split_threads = bits & 2};
    struct view *view;
    struct error error;

    if (view_build(profile, &choice, &view, &error))
        fail_msg("%s", error.text);
    return view;
}

static void skipping_while_recording_equals_skipping_afterwards(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 1000; seed++) {
        struct profile *before = fixture_random(seed), *skipped = fixture_random(seed);
        struct skip_rules rules = random_rules(seed);
        profile_skip(skipped, &rules);
        fixture_check(skipped);
        for (int bits = 0; bits < 4; bits++) {
            struct view *view = view_bits(before, bits), *afterwards = view_skip(view, &rules);
            struct view *recorded = view_bits(skipped, bits);
            fixture_assert_same(recorded, afterwards);
            view_free(view);
            view_free(afterwards);
            view_free(recorded);
        }
        profile_free(before);
        profile_free(skipped);
    }
}

/* Applies transform number `which`; NULL when there are no more. */
static struct view *apply(const struct view *view, int which, unsigned seed, bool *idempotent)
{
    struct skip_rules rules = random_rules(seed);
    struct view *made = NULL;
    struct error error;

    *idempotent = true;
    switch (which) {
    case 0:
        return view_skip(view, &rules);
    case 1:
        return view_fold_recursion(view);
    case 2:
        assert_int_equal(view_focus(view, "f1", &made, &error), OK);
        return made;
    case 3:
        assert_int_equal(view_root(view, "f2", &made, &error), OK);
        return made;
    case 4:
        assert_int_equal(view_invert(view, &made, &error), OK);
        *idempotent = false;
        return made;
    case 5:
        return view_python(view, PYTHON_ONLY);
    default:
        return NULL;
    }
}

static void transforms_keep_the_total_and_are_idempotent(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 300; seed++) {
        struct profile *profile = fixture_random(seed);
        struct view *view = view_bits(profile, (int)seed & 3);
        bool idempotent;
        for (int which = 0; which < 6; which++) {
            struct view *once = apply(view, which, seed, &idempotent);
            assert_int_equal(view_total(once), view_total(view));
            for (size_t i = 0; i < once->node_count; i++)
                assert_true(once->parent[i] == NONE || once->parent[i] < i);
            if (idempotent) {
                struct view *twice = apply(once, which, seed, &idempotent);
                fixture_assert_same(twice, once);
                view_free(twice);
            }
            view_free(once);
        }
        view_free(view);
        profile_free(profile);
    }
}

static void folding_leaves_no_function_twice_on_a_path(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 300; seed++) {
        struct profile *profile = fixture_random(seed);
        struct view *view = fixture_view(profile), *folded = view_fold_recursion(view);
        for (size_t i = 0; i < folded->node_count; i++)
            for (uint32_t up = folded->parent[i]; up != NONE; up = folded->parent[up])
                assert_int_not_equal(folded->frame[i], folded->frame[up]);
        view_free(view);
        view_free(folded);
        profile_free(profile);
    }
}

/* The same costs, whatever the depth, and no stack overflow. */
static void a_million_deep_tree_is_transformed(void **state)
{
    enum { DEPTH = 1000000 };
    struct profile_maker maker;
    uint32_t context = 0;
    const char *pattern = "f1";
    struct skip_rules rules = skip_function(&pattern);
    struct view *made;
    struct error error;

    (void)state;
    maker_start(&maker, "import:test");
    uint32_t functions[2] = {maker_function(&maker, "f0", ""), maker_function(&maker, "f1", "")};
    for (int i = 0; i < DEPTH; i++) {
        context = maker_context(&maker, context, functions[i % 2]);
        maker_add(&maker, context, 1, 1);
    }
    struct profile *profile = maker_finish(&maker);
    struct view *view = fixture_view(profile);
    assert_int_equal(view->node_count, DEPTH);
    made = view_fold_recursion(view);
    fixture_assert_dump(made, "f0 500000 500000\nf0;f1 500000 500000\n");
    view_free(made);
    made = view_skip(view, &rules);
    assert_int_equal(view_total(made), DEPTH);
    assert_int_equal(made->node_count, DEPTH / 2);
    view_free(made);
    assert_int_equal(view_root(view, "f1", &made, &error), OK);
    assert_int_equal(view_total(made), DEPTH);
    view_free(made);
    assert_int_equal(view_invert(view, &made, &error), ERROR);
    assert_non_null(strstr(error.text, "--fold-recursion"));
    struct function_cost *costs = view_function_costs(view);
    assert_int_equal(costs[functions[1]].total, DEPTH - 1);
    free(costs);
    profile_skip(profile, &rules);
    assert_int_equal(profile->context_count, DEPTH / 2 + 1);
    view_free(view);
    profile_free(profile);
}

/* ---- the order of counts ---- */

static void counts_are_put_in_order_and_joined(void **state)
{
    enum { ROWS = 20000, CONTEXTS = 300, BLOCKS = 40 };
    struct block_count *rows = malloc(ROWS * sizeof *rows);
    uint64_t(*sums)[BLOCKS] = calloc(CONTEXTS, sizeof *sums);
    uint64_t random = 1;
    size_t pairs = 0;

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        rows[i] = (struct block_count){
            .context = (random >> 33) % CONTEXTS,
            .block = (random >> 50) % BLOCKS,
            .count = i + 1,
        };
        pairs += !sums[rows[i].context][rows[i].block];
        sums[rows[i].context][rows[i].block] += i + 1;
    }
    assert_int_equal(order_counts(rows, ROWS, CONTEXTS), pairs);
    assert_int_equal(order_counts(rows, pairs, CONTEXTS), pairs);
    for (size_t i = 0; i < pairs; i++) {
        assert_int_equal(rows[i].count, sums[rows[i].context][rows[i].block]);
        if (i)
            assert_true(
                rows[i - 1].context < rows[i].context ||
                (rows[i - 1].context == rows[i].context && rows[i - 1].block < rows[i].block));
    }
    assert_int_equal(order_counts(NULL, 0, 0), 0);
    free(sums);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_cost_goes_to_the_caller_that_is_shown),
        cmocka_unit_test(without_a_caller_it_goes_to_skipped),
        cmocka_unit_test(everything_can_be_skipped),
        cmocka_unit_test(patterns_match_as_documented),
        cmocka_unit_test(focus_keeps_paths_through_the_function),
        cmocka_unit_test(root_makes_outermost_calls_the_roots),
        cmocka_unit_test(direct_recursion_folds),
        cmocka_unit_test(mutual_recursion_folds),
        cmocka_unit_test(the_path_is_restored_after_a_fold),
        cmocka_unit_test(inverted_leaves_are_roots),
        cmocka_unit_test(python_modes_keep_the_total),
        cmocka_unit_test(skipping_while_recording_equals_skipping_afterwards),
        cmocka_unit_test(transforms_keep_the_total_and_are_idempotent),
        cmocka_unit_test(folding_leaves_no_function_twice_on_a_path),
        cmocka_unit_test(a_million_deep_tree_is_transformed),
        cmocka_unit_test(counts_are_put_in_order_and_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
