/*
 * make.h: a profile made path by path, for importers and for tests.
 *
 * Functions are found or added by (name, object), contexts by (parent, function). The profile is
 * at function detail and has one part; one process and one thread, or those that maker_thread
 * adds.
 */
#ifndef TRUEFLAME_MAKE_H
#define TRUEFLAME_MAKE_H

#include "common/map.h"
#include "profile/profile.h"

struct profile_maker {
    struct profile *profile;
    struct map modules;           /* path -> module */
    struct map functions;         /* (module, name) -> function */
    struct map contexts;          /* (parent, function) -> context */
    struct map processes;         /* process id -> process */
    struct map threads;           /* (process, thread id) -> root context */
    uint64_t instructions, calls; /* sums so far */
    bool first_thread_named;
};

/* `engine` is what meta says, "import:folded" for example. */
void maker_start(struct profile_maker *maker, const char *engine);

/* The number of the function called `name` in `object`; "" is an unknown one. Names that begin with
 * py:: are Python functions, as perf and we write them. */
uint32_t maker_function(struct profile_maker *maker, const char *name, const char *object);

/* The root context of a thread, found or added by its ids. The first one named is context 0. */
uint32_t maker_thread(struct profile_maker *maker, uint32_t process_id, uint32_t thread_id,
                      const char *command);

/* The context of `function` called from `parent`; context 0 is a root. */
uint32_t maker_context(struct profile_maker *maker, uint32_t parent, uint32_t function);

/* Adds to a context; ERROR when a sum would pass 64 bits, and nothing is added then. */
int maker_add(struct profile_maker *maker, uint32_t context, uint64_t instructions, uint64_t calls);

/* The finished profile, which the caller owns; the maker is empty again. */
struct profile *maker_finish(struct profile_maker *maker);
void maker_discard(struct profile_maker *maker);

#endif
