#include "profile/rules.h"

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

/* The part of a name that people say: a C++ function without its parameters, a Python function,
 * shown as py::QUALNAME:FILE, without both. To be freed; NULL: the name is all there is. */
static char *bare_name(const char *name)
{
    static const char python[] = "py::";
    size_t start = 0, end = parameters_at(name);

    if (!strncmp(name, python, sizeof python - 1)) {
        start = sizeof python - 1;
        end = start + strcspn(name + start, ":");
    }
    return end > start ? strndup(name + start, end - start) : NULL;
}

bool rule_matches_function(const char *pattern, const char *name, const char *symbol)
{
    if (fnmatch(pattern, name, 0) == 0 || (*symbol && fnmatch(pattern, symbol, 0) == 0))
        return true;
    char *bare = bare_name(name);
    bool matches = bare && fnmatch(pattern, bare, 0) == 0;
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
