/*
 * transform.h: views made from views. Pure functions: the old view stays as it is, the new one is
 * the caller's to free, and the sum of self counts is the same in both.
 *
 *   skip     main            -> main            the skipped frame's cost goes to the nearest
 *              lib 5              work 3         frame above it that is shown; with none, to one
 *                work 3                          root frame "(skipped)"
 *   focus    keeps the paths through a function; what does not pass it is "(other)"
 *   root     the function's outermost calls become the roots; everything else is "(other)"
 *   fold     a function appears once on a path: a call back to a function that is on the path
 *            already, directly or through others, joins it
 *   invert   the leaf is the root: who executes, then who called it, and so on
 *   python   mixed: the interpreter's own frames that only carry a Python call are not shown;
 *            only: Python frames alone, what runs under none is "(native)"; native: none of them
 *
 * Frames of threads stay at the top of whatever is below them.
 * Cost: linear in the nodes, except invert, which is linear in the sum of the depths.
 */
#ifndef TRUEFLAME_TRANSFORM_H
#define TRUEFLAME_TRANSFORM_H

#include "profile/rules.h"
#include "profile/view.h"

struct view *view_skip(const struct view *view, const struct skip_rules *rules);
struct view *view_fold_recursion(const struct view *view);

/* ERROR when no function matches. */
int view_focus(const struct view *view, const char *pattern, struct view **made,
               struct error *error);
int view_root(const struct view *view, const char *pattern, struct view **made,
              struct error *error);

/* ERROR when it would take more than INVERT_MOST_NODES nodes: a deep recursion does. */
#define INVERT_MOST_NODES 50000000
int view_invert(const struct view *view, struct view **made, struct error *error);

enum python_mode { PYTHON_MIXED, PYTHON_ONLY, PYTHON_NATIVE };
struct view *view_python(const struct view *view, enum python_mode mode);

/* Does the function only carry Python calls? `object` is the path of its module. */
bool python_is_plumbing(const char *object, const char *name, const char *symbol);

/* Is it a trampoline, which stands in front of a Python function? Its symbol is its name in a perf
 * map; functions that were found by watching the interpreter have none. */
bool python_is_trampoline(enum function_kind kind, const char *symbol);

/* Everything a command's options can ask for, in the order it is applied. */
struct transforms {
    struct view_choice choice;
    enum python_mode python;
    struct skip_rules skip;
    const char *root;  /* NULL: no */
    const char *focus; /* NULL: no */
    bool fold_recursion;
    bool invert;
};

int transforms_apply(const struct profile *profile, const struct transforms *transforms,
                     struct view **view, struct error *error);

/* Frames with the same label become one, as do inlined and real copies; labels[i] is the new name
 * of frame i and must outlive the view. For writers that show names only. */
struct view *view_relabel(const struct view *view, const char *const *labels, bool join_inlined);

/* Skips in the profile itself, so that whatever is made from it later is as if those functions had
 * been skipped then: every view of it equals view_skip of the view of the profile before. */
void profile_skip(struct profile *profile, const struct skip_rules *rules);

#endif
