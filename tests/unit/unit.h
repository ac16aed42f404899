/* unit.h: what every cmocka program needs, in the order cmocka wants it. */
#ifndef TRUEFLAME_UNIT_H
#define TRUEFLAME_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "profile/transform.h"
#include "profile/view.h"

/* Small builders for hand-made profiles. */
uint32_t fixture_module(struct profile *profile, const char *path, enum module_kind kind);
uint32_t fixture_function(struct profile *profile, uint32_t module, const char *name);
uint32_t fixture_inlined(struct profile *profile, uint32_t module, const char *name);
uint32_t fixture_root(struct profile *profile); /* a root context with process, thread and part */
uint32_t fixture_context(struct profile *profile, uint32_t parent, uint32_t function, uint32_t site,
                         uint64_t calls, uint64_t self_instructions);
/* A location of `count` functions, outermost first, lines 10, 11, ... */
uint32_t fixture_location(struct profile *profile, size_t count, const uint32_t *functions);
uint32_t fixture_site(struct profile *profile, uint32_t module, uint64_t address,
                      uint32_t location);
/* A block of one piece. */
uint32_t fixture_block(struct profile *profile, uint32_t module, uint64_t address,
                       uint32_t instructions, uint32_t location);
/* Adds to the counts and to the context's self instructions; contexts must come in order. */
void fixture_count(struct profile *profile, uint32_t context, uint32_t block, uint64_t count);

/* Fails the test with the message when the profile breaks an invariant. */
void fixture_check(const struct profile *profile);

/* A profile with a row in every table, at line detail:
 *   main (app) calls work; helper is inlined in work and calls leaf (lib). */
struct profile *fixture_everything(void);

/* The profile that `paths` describes, in folded form: lines of "a;b;c 5". */
struct profile *fixture_paths(const char *paths);

/* A view of it without any transform. */
struct view *fixture_view(const struct profile *profile);

/* A profile at line detail with random contexts, inlined functions, two roots; the same for the
 * same seed. */
struct profile *fixture_random(unsigned seed);

/* Every node with a cost or calls as a line "a;b[i] self calls", sorted; to be freed. */
char *fixture_dump(const struct view *view);
void fixture_assert_same(const struct view *a, const struct view *b);
void fixture_assert_dump(const struct view *view, const char *expected);

#endif
