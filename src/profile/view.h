/*
 * view.h: the tree of frames a person sees, made from a profile.
 *
 *   profile                                view
 *   contexts (parent, site, function)      nodes (parent, frame, inlined)
 *   main -site 7-> work  (2 call sites)    main
 *   main -site 9-> work                      work           one node: call sites are merged
 *   work -site 3-> leaf, where site 3           helper      inlined: from the site's location
 *     lies in helper, inlined in work             leaf
 *
 * A context's instructions are spread over the inlined functions that its blocks' pieces lie in,
 * and a call made from inlined code hangs under the inlined frame; so every node's self count is
 * exact and their sum is the profile's. At function detail there are no inlined frames, because
 * nothing is known of what they cost. Roots of threads are not frames: nodes without a parent are
 * the functions that threads began with; a cost of the root itself is skipped code without a
 * visible caller, shown as "(skipped)".
 *
 * A view is columns of numbers, parents before children: any walk over it is a loop, however deep
 * the tree. Transforms (transform.h) make a new view from a view.
 *
 * Ownership: a view owns its columns and frame table; the texts of frames belong to the profile or
 * to a pool that views made from one another share. The profile must outlive its views.
 */
#ifndef TRUEFLAME_VIEW_H
#define TRUEFLAME_VIEW_H

#include "profile/profile.h"

/* What a node shows. Functions of the profile keep their number here: frame i is function i for
 * i < profile->function_count; made-up frames (threads, "(skipped)") follow, and functions at one
 * of their lines. */
struct view_frame {
    const char *name;    /* as shown; Python functions are py::QUALNAME:FILE */
    const char *object;  /* path of the module, "" for made-up frames */
    const char *symbol;  /* as in the symbol table, "" where there is none */
    const char *file;    /* where it is declared, "" unknown */
    uint32_t line;       /* 0 unknown */
    uint32_t at_line;    /* the line that is executing, where lines were asked for; else 0 */
    uint32_t function;   /* of the profile; NONE: made up */
    uint64_t start;      /* address in the object */
    uint8_t kind;        /* enum function_kind; FUNCTION_ROOT: a thread (--merge-threads=no) */
    uint8_t module_kind; /* enum module_kind */
};

enum view_flags { VIEW_INLINED = 1 };

struct view_texts;

struct view {
    const struct profile *profile;

    struct view_frame *frames;
    size_t frame_count, frame_capacity;

    /* Columns of node_count rows. parent[i] < i, or NONE. No two nodes have the same parent, frame
     * and flags. */
    uint32_t *parent;
    uint32_t *frame;
    uint8_t *flags;  /* enum view_flags */
    uint64_t *self;  /* instructions */
    uint64_t *calls; /* 0 for inlined frames */
    size_t node_count, node_capacity;

    struct view_texts *texts;
};

struct view_choice {
    bool no_inline;     /* leave inlined functions out: their cost is the real function's */
    bool split_threads; /* a top frame for each thread instead of all merged */
    bool by_line;       /* a function is a frame for each line that executes or calls in it, and
                         * one for its calls; at line detail, where lines are known */
    bool split_copies;  /* JIT functions of one name at several addresses are several frames */
    bool merge_tiers;   /* and what V8 compiled again, better, is the same function */
    const char *part;   /* only the parts of this name; NULL: all */
};

/* A new view. ERROR when `choice->part` names no part. */
int view_build(const struct profile *profile, const struct view_choice *choice, struct view **view,
               struct error *error);
void view_free(struct view *view);

uint64_t view_total(const struct view *view);

/* Is this node a thread's top frame rather than a function? */
bool view_is_thread(const struct view *view, uint32_t node);

/* Self plus everything below, for each node; to be freed. */
uint64_t *view_totals(const struct view *view);

/* The sum of the depths of the nodes with a self count: how many frames there are when every such
 * path is written out. */
uint64_t view_path_frames(const struct view *view);

/* Children as linked lists in node order, ended by NONE; first_child[node_count] is the list of
 * nodes without parent. */
struct view_links {
    uint32_t *first_child;
    uint32_t *next_sibling;
};

struct view_links view_link(const struct view *view);
void view_links_free(struct view_links *links);

/* What a function costs over the whole tree. */
struct function_cost {
    uint64_t self;
    uint64_t total; /* once per path: a recursive function is not counted again below itself */
    uint64_t calls;
};

/* One row for each frame of the view; to be freed. Inlined and real copies are added up. */
struct function_cost *view_function_costs(const struct view *view);

#endif
