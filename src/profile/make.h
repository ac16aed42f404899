/*
 * make.h: a profile made path by path, for importers and for tests.
 *
 * Functions are found or added by (name, object), contexts by (parent, function). The profile is
 * at function detail unless the caller adds blocks, has one process, one thread and one part.
 */
#ifndef TRUEFLAME_MAKE_H
#define TRUEFLAME_MAKE_H

#include "common/map.h"
#include "profile/profile.h"

struct profile_maker {
    struct profile *profile;
    struct map modules;   /* path -> module */
    struct map functions; /* (module, name) -> function */
    struct map contexts;  /* (parent, function) -> context */
};

/* `engine` is what meta says, "import:folded" for example. */
void maker_start(struct profile_maker *maker, const char *engine);

/* The number of the function called `name` in `object`; "" is an unknown object. */
uint32_t maker_function(struct profile_maker *maker, const char *name, const char *object);

/* The context of `function` called from `parent`; the context of the only root is 0. */
uint32_t maker_context(struct profile_maker *maker, uint32_t parent, uint32_t function);

/* Adds to a context; ERROR when a sum would pass 64 bits, and nothing is added then. */
int maker_add(struct profile_maker *maker, uint32_t context, uint64_t instructions, uint64_t calls);

/* The finished profile, which the caller owns; the maker is empty again. */
struct profile *maker_finish(struct profile_maker *maker);
void maker_discard(struct profile_maker *maker);

#endif
