/*
 * The view: contexts become nodes, inlined functions are frames with exact costs.
 */
#include "unit.h"

#include "common/memory.h"
#include <stdlib.h>
#include <string.h>

static struct view *view_with(const struct profile *profile, struct view_choice choice)
{
    struct view *view;
    struct error error;

    if (view_build(profile, &choice, &view, &error))
        fail_msg("%s", error.text);
    return view;
}

static void inlined_functions_are_frames(void **state)
{
    struct profile *profile = fixture_everything();
    struct view *view = fixture_view(profile);

    (void)state;
    fixture_assert_dump(view, "main 5 1\n"
                              "main;work 0 3\n"
                              "main;work;helper[i] 120 0\n"
                              "main;work;helper[i];leaf 7000000000000 6\n");
    view_free(view);
    profile_free(profile);
}

static void without_inlining_the_real_function_has_the_cost(void **state)
{
    struct profile *profile = fixture_everything();
    struct view *view = view_with(profile, (struct view_choice){.no_inline = true});

    (void)state;
    fixture_assert_dump(view, "main 5 1\n"
                              "main;work 120 3\n"
                              "main;work;leaf 7000000000000 6\n");
    view_free(view);
    profile_free(profile);
}

static void call_sites_are_merged(void **state)
{
    struct profile *profile = profile_new();
    uint32_t app = fixture_module(profile, "/bin/app", MODULE_FILE);
    uint32_t main_function = fixture_function(profile, app, "main");
    uint32_t work = fixture_function(profile, app, "work");
    uint32_t root = fixture_root(profile);
    uint32_t main_context = fixture_context(profile, root, main_function, NONE, 1, 2);

    (void)state;
    fixture_context(profile, main_context, work, fixture_site(profile, app, 1, NONE), 3, 10);
    fixture_context(profile, main_context, work, fixture_site(profile, app, 2, NONE), 4, 20);
    struct view *view = fixture_view(profile);
    fixture_assert_dump(view, "main 2 1\nmain;work 30 7\n");
    view_free(view);
    profile_free(profile);
}

static void threads_merge_unless_split(void **state)
{
    struct profile *profile = profile_new();
    uint32_t app = fixture_module(profile, "/bin/app", MODULE_FILE);
    uint32_t work = fixture_function(profile, app, "work");

    (void)state;
    fixture_context(profile, fixture_root(profile), work, NONE, 1, 10);
    fixture_context(profile, fixture_root(profile), work, NONE, 1, 20);
    profile->threads[0].ordinal = 1;
    profile->threads[1].ordinal = 2;
    profile->threads[1].name = profile_intern(profile, "worker");
    fixture_check(profile);
    struct view *merged = fixture_view(profile);
    fixture_assert_dump(merged, "work 30 2\n");
    struct view *split = view_with(profile, (struct view_choice){.split_threads = true});
    fixture_assert_dump(split, "process 1 thread 1: app;work 10 1\n"
                               "process 1 thread 2: worker;work 20 1\n");
    view_free(merged);
    view_free(split);
    profile_free(profile);
}

static void a_part_can_be_chosen(void **state)
{
    struct profile *profile = profile_new();
    uint32_t app = fixture_module(profile, "/bin/app", MODULE_FILE);
    uint32_t work = fixture_function(profile, app, "work");
    struct view *view;
    struct error error;

    (void)state;
    fixture_context(profile, fixture_root(profile), work, NONE, 1, 10);
    fixture_context(profile, fixture_root(profile), work, NONE, 1, 20);
    *array_push(profile->parts, profile->part_count, profile->part_capacity) =
        (struct part){.name = profile_intern(profile, "second")};
    profile->roots[1].part = 1;
    view = view_with(profile, (struct view_choice){.part = "second"});
    fixture_assert_dump(view, "work 20 1\n");
    view_free(view);
    struct view_choice wrong = {.part = "third"};
    assert_int_equal(view_build(profile, &wrong, &view, &error), ERROR);
    assert_string_equal(error.text, "no part is named 'third'");
    profile_free(profile);
}

static void names_that_are_missing_are_made(void **state)
{
    struct profile *profile = profile_new();
    uint32_t app = fixture_module(profile, "/bin/app", MODULE_FILE);
    uint32_t python = fixture_module(profile, "script.py", MODULE_PYTHON);
    uint32_t unnamed = fixture_function(profile, app, "");
    uint32_t script = fixture_function(profile, python, "Shop.sell");

    (void)state;
    profile->functions[unnamed].start = 0xabc;
    profile->functions[script].kind = FUNCTION_PYTHON;
    profile->functions[script].file = profile_intern(profile, "script.py");
    uint32_t below = fixture_context(profile, fixture_root(profile), unnamed, NONE, 1, 1);
    fixture_context(profile, below, script, NONE, 1, 2);
    struct view *view = fixture_view(profile);
    fixture_assert_dump(view, "app+0xabc 1 1\napp+0xabc;py::Shop.sell:script.py 2 1\n");
    view_free(view);
    profile_free(profile);
}

static void a_function_is_counted_once_per_path(void **state)
{
    struct profile *profile = fixture_paths("a 1\na;b 2\na;b;a 4\na;b;a;b 8\na;c 16\nc 32\n");
    struct view *view = fixture_view(profile);
    struct function_cost *costs = view_function_costs(view);

    (void)state;
    for (size_t i = 0; i < view->frame_count; i++) {
        struct function_cost cost = costs[i];
        const char *name = view->frames[i].name;
        if (!strcmp(name, "a"))
            assert_true(cost.self == 5 && cost.total == 31 && cost.calls == 2);
        if (!strcmp(name, "b"))
            assert_true(cost.self == 10 && cost.total == 14 && cost.calls == 2);
        if (!strcmp(name, "c"))
            assert_true(cost.self == 48 && cost.total == 48 && cost.calls == 2);
    }
    free(costs);
    view_free(view);
    profile_free(profile);
}

static void random_views_keep_the_total(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        struct profile *profile = fixture_random(seed);
        for (int bits = 0; bits < 4; bits++) {
            struct view *view = view_with(
                profile, (struct view_choice){.no_inline = bits & 1, .split_threads = bits & 2});
            assert_int_equal(view_total(view), profile_total_instructions(profile));
            uint64_t *totals = view_totals(view), top = 0;
            for (size_t i = 0; i < view->node_count; i++) {
                assert_true(view->parent[i] == NONE || view->parent[i] < i);
                top += view->parent[i] == NONE ? totals[i] : 0;
            }
            assert_int_equal(top, view_total(view));
            free(totals);
            view_free(view);
        }
        profile_free(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_functions_are_frames),
        cmocka_unit_test(without_inlining_the_real_function_has_the_cost),
        cmocka_unit_test(call_sites_are_merged),
        cmocka_unit_test(threads_merge_unless_split),
        cmocka_unit_test(a_part_can_be_chosen),
        cmocka_unit_test(names_that_are_missing_are_made),
        cmocka_unit_test(a_function_is_counted_once_per_path),
        cmocka_unit_test(random_views_keep_the_total),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
