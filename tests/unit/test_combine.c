/*
 * Two profiles: laid over one another (diff), and added up (merge).
 */
#include "unit.h"

#include "common/memory.h"
#include "profile/diff.h"
#include "profile/merge.h"
#include <stdlib.h>
#include <string.h>

struct pair {
    struct profile *profiles[2];
    struct view *views[2];
    struct diff *diff;
};

static struct pair pair_of(struct profile *base, struct profile *new)
{
    struct pair pair = {.profiles = {base, new}};

    for (int i = 0; i < 2; i++)
        pair.views[i] = fixture_view(pair.profiles[i]);
    pair.diff = diff_make(pair.views[0], pair.views[1]);
    return pair;
}

static void pair_free(struct pair *pair)
{
    diff_free(pair->diff);
    for (int i = 0; i < 2; i++) {
        view_free(pair->views[i]);
        profile_free(pair->profiles[i]);
    }
}

static uint32_t node_named(const struct diff *diff, const char *name)
{
    for (uint32_t i = 0; i < diff->tree->node_count; i++)
        if (!strcmp(diff->tree->frames[diff->tree->frame[i]].name, name))
            return i;
    fail_msg("no node is named %s", name);
    return NONE;
}

static void the_union_has_both(void **state)
{
    struct pair pair = pair_of(fixture_paths("a;b 1\na;c 2\n"), fixture_paths("a;b 5\na;d 7\n"));
    const struct diff *diff = pair.diff;
    uint32_t a = node_named(diff, "a"), b = node_named(diff, "b"), c = node_named(diff, "c"),
             d = node_named(diff, "d");

    (void)state;
    assert_int_equal(diff->tree->node_count, 4);
    assert_true(diff->base_sum == 3 && diff->new_sum == 12);
    assert_true(diff->base_total[a] == 3 && diff->new_total[a] == 12);
    assert_true(diff->base_self[b] == 1 && diff->tree->self[b] == 5);
    assert_true(diff->base_self[c] == 2 && diff->tree->self[c] == 0);
    assert_true(diff->base_self[d] == 0 && diff->tree->self[d] == 7);
    assert_string_equal(diff_status(diff, b), "changed");
    assert_string_equal(diff_status(diff, c), "vanished");
    assert_string_equal(diff_status(diff, d), "new");
    pair_free(&pair);
}

static void inlining_is_no_part_of_identity(void **state)
{
    struct profile *called = fixture_everything();
    struct pair pair;

    (void)state;
    /* The same, but helper is a function of its own that work calls. */
    for (size_t i = 0; i < called->context_count; i++)
        called->contexts[i].self_instructions = 0;
    called->count_count = 0;
    called->meta.detail = DETAIL_FUNCTION;
    uint32_t helper = 2, work_context = 2, leaf_context = 3;
    called->functions[helper].only_inlined = 0;
    uint32_t helper_context = fixture_context(called, work_context, helper, NONE, 3, 130);
    fixture_context(called, helper_context, called->contexts[leaf_context].function, NONE, 6, 9);
    called->contexts[leaf_context].calls = 0;
    fixture_check(called);

    pair = pair_of(fixture_everything(), called);
    uint32_t node = node_named(pair.diff, "helper");
    assert_string_equal(diff_inlining(pair.diff, node), "no longer inlined");
    assert_string_equal(diff_status(pair.diff, node), "changed");
    assert_true(pair.diff->base_self[node] == 120 && pair.diff->tree->self[node] == 130);
    assert_null(diff_inlining(pair.diff, node_named(pair.diff, "work")));
    pair_free(&pair);
}

static void objects_match_by_file_name(void **state)
{
    static const char *const same[][2] = {
        {"/old/app", "/new/app"},
        {"/lib/libx.so.1.2", "/lib/libx.so.1.3"},
        {"/bin/app-1.0", "/bin/app-1.1"}, /* the only file that each has alone */
    };

    (void)state;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct profile *profiles[2];
        for (int side = 0; side < 2; side++) {
            profiles[side] = fixture_paths("a 1\n");
            profiles[side]->modules[1].path = profile_intern(profiles[side], same[i][side]);
        }
        struct pair pair = pair_of(profiles[0], profiles[1]);
        assert_int_equal(pair.diff->tree->node_count, 1);
        pair_free(&pair);
    }
}

static void a_random_profile_equals_itself(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 100; seed++) {
        struct pair pair = pair_of(fixture_random(seed), fixture_random(seed));
        const struct diff *diff = pair.diff;
        struct diff_function *functions = diff_functions(diff);
        for (size_t i = 0; i < diff->tree->node_count; i++)
            assert_true(diff->base_self[i] == diff->tree->self[i] &&
                        diff->base_calls[i] == diff->tree->calls[i] &&
                        diff->base_total[i] == diff->new_total[i]);
        for (size_t i = 0; i < diff->tree->frame_count; i++)
            assert_memory_equal(&functions[i].base, &functions[i].new, sizeof functions[i].base);
        assert_int_equal(diff->new_sum, profile_total_instructions(pair.profiles[1]));
        free(functions);
        pair_free(&pair);
    }
}

static void normalising_makes_the_sums_equal(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 100; seed++) {
        struct pair pair = pair_of(fixture_random(seed), fixture_random(seed + 1));
        diff_normalise(pair.diff);
        assert_int_equal(pair.diff->base_sum, pair.diff->new_sum);
        pair_free(&pair);
    }
}

/* The view of a merged profile is the sum of the views. */
static void merging_adds_up(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 100; seed++) {
        struct profile *merged = profile_new(), *parts[3];
        struct profile_merger merger;
        struct error error;
        uint64_t total = 0;
        merger_start(&merger, merged);
        for (unsigned i = 0; i < 3; i++) {
            parts[i] = fixture_random(seed + i / 2 * 1000); /* the first two are the same */
            total += profile_total_instructions(parts[i]);
            assert_int_equal(merger_add(&merger, parts[i], "test", &error), OK);
        }
        merger_finish(&merger);
        fixture_check(merged);
        assert_int_equal(profile_total_instructions(merged), total);
        assert_int_equal(merged->context_count,
                         parts[0]->context_count * 2 + parts[2]->context_count);
        assert_true(merged->function_count <= parts[0]->function_count + parts[2]->function_count);

        struct view *view = fixture_view(merged);
        uint64_t sums[3] = {0};
        for (unsigned i = 0; i < 3; i++) {
            struct view *part = fixture_view(parts[i]);
            struct diff *diff = diff_make(part, view);
            for (size_t n = 0; n < diff->tree->node_count; n++) {
                assert_true(diff->base_self[n] <= diff->tree->self[n]);
                sums[i] += diff->base_self[n];
            }
            diff_free(diff);
            view_free(part);
        }
        assert_int_equal(sums[0] + sums[1] + sums[2], view_total(view));
        view_free(view);
        for (unsigned i = 0; i < 3; i++)
            profile_free(parts[i]);
        profile_free(merged);
    }
}

static void tables_that_both_have_stay_single(void **state)
{
    struct profile *merged = fixture_everything(), *more = fixture_everything();

    (void)state;
    profile_merge(merged, more);
    fixture_check(merged);
    assert_int_equal(merged->module_count, more->module_count);
    assert_int_equal(merged->function_count, more->function_count);
    assert_int_equal(merged->location_count, more->location_count);
    assert_int_equal(merged->site_count, more->site_count);
    assert_int_equal(merged->block_count, more->block_count);
    assert_int_equal(merged->part_count, more->part_count);
    assert_int_equal(merged->repair_count, more->repair_count);
    assert_int_equal(merged->repairs[0].count, 2 * more->repairs[0].count);
    assert_int_equal(merged->process_count, 2 * more->process_count);
    assert_int_equal(merged->context_count, 2 * more->context_count);
    assert_string_equal(profile_string(merged, merged->meta.pids), "4711 4711");
    profile_free(merged);
    profile_free(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_union_has_both),
        cmocka_unit_test(inlining_is_no_part_of_identity),
        cmocka_unit_test(objects_match_by_file_name),
        cmocka_unit_test(a_random_profile_equals_itself),
        cmocka_unit_test(normalising_makes_the_sums_equal),
        cmocka_unit_test(merging_adds_up),
        cmocka_unit_test(tables_that_both_have_stay_single),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
