/*
 * rules.h: which frames a pattern means. Shared by skipping, focus and root.
 *
 * Patterns are shell globs in which * also matches a slash. One for objects is compared with the
 * whole path and, when it has no slash, with the file's name; one for functions with the name as
 * shown, that name without its parameter list, and the symbol.
 */
#ifndef TRUEFLAME_RULES_H
#define TRUEFLAME_RULES_H

#include <stdbool.h>
#include <stddef.h>

struct skip_rules {
    const char *const *objects; /* patterns; not owned */
    size_t object_count;
    const char *const *functions;
    size_t function_count;
    bool anon; /* code in memory that has neither file nor name */
};

bool rule_matches_object(const char *pattern, const char *path);
bool rule_matches_function(const char *pattern, const char *name, const char *symbol);

/* Is a function of this object to be skipped? `kind` is enum function_kind; roots never are. */
bool skip_rules_match(const struct skip_rules *rules, const char *object, const char *name,
                      const char *symbol, int kind);

#endif
