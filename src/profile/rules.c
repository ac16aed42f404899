#include "profile/rules.h"

#include "common/memory.h"
#include "profile/profile.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool rule_matches_object(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (fnmatch(pattern, path, 0) == 0)
        return true;
    return slash && !strchr(pattern, '/') && fnmatch(pattern, slash + 1, 0) == 0;
}

/* Where the parameter list of a demangled name begins: the parenthesis that the last closing one
 * belongs to. 0: there is none. */
static size_t parameters_at(const char *name)
{
    const char *end = strrchr(name, ')');
    size_t depth = 0;

    if (!end || name[0] == '(')
        return 0;
    for (const char *at = end; at > name; at--) {
        depth += *at == ')';
        depth -= *at == '(';
        if (depth == 0)
            return (size_t)(at - name);
    }
    return 0;
}

bool rule_matches_function(const char *pattern, const char *name, const char *symbol)
{
    if (fnmatch(pattern, name, 0) == 0 || (*symbol && fnmatch(pattern, symbol, 0) == 0))
        return true;
    size_t length = parameters_at(name);
    if (length == 0)
        return false;
    char *bare = memory_duplicate_string(name);
    bare[length] = 0;
    bool matches = fnmatch(pattern, bare, 0) == 0;
    free(bare);
    return matches;
}

bool skip_rules_match(const struct skip_rules *rules, const char *object, const char *name,
                      const char *symbol, int kind)
{
    if (kind == FUNCTION_ROOT)
        return false;
    if (rules->anon && kind == FUNCTION_ANON)
        return true;
    for (size_t i = 0; i < rules->object_count; i++)
        if (*object && rule_matches_object(rules->objects[i], object))
            return true;
    for (size_t i = 0; i < rules->function_count; i++)
        if (rule_matches_function(rules->functions[i], name, symbol))
            return true;
    return false;
}
