/*
 * diff_files.c: pairs source files of two checkouts.
 *
 * Python and JavaScript functions have the path of their file in their names:
 *
 *      py::run:/ci/base/pkg/app.py         JS:~run /ci/base/app.js:12:5
 *
 * and a program is compared with what it was in another folder. So the files that only one of the
 * profiles has are paired: those of the same name whose paths have the most folders in common, from
 * the end. Where several have as many, none is: two files must never become one.
 *
 * Cost: files of one name are compared each with each; there are hundreds of __init__.py.
 */
#include "profile/diff_files.h"

#include "common/map.h"
#include "common/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { IN_BASE = 1, IN_NEW = 2 };

/* Files of one name beyond this are not paired: it would take too long. */
#define MOST_COMPARISONS 4000000

struct diff_files {
    struct profile *paths; /* as strings: numbers for them */
    struct map new_of;     /* path of the base -> path of the new profile */
};

struct path_list {
    const char **paths; /* sorted by the last part, then all of it */
    size_t count, capacity;
};

/* Where in the name of a frame the path of its file is; false: nowhere. */
static bool find_path(const struct view_frame *frame, size_t *start, size_t *length)
{
    size_t name_length = strlen(frame->name), object_length = strlen(frame->object);

    if (frame->kind == FUNCTION_PYTHON) {
        *start = name_length - object_length;
        *length = object_length;
        return object_length && name_length > object_length && frame->name[*start - 1] == ':' &&
               !strcmp(frame->name + *start, frame->object);
    }
    const char *space = strchr(frame->name, ' ');
    if (frame->kind != FUNCTION_JIT || strncmp(frame->name, "JS:", 3) || !space)
        return false;
    const char *end = frame->name + name_length;
    for (int i = 0; i < 2; i++) { /* ":line:column" */
        const char *digits = end;
        while (digits > space && isdigit((unsigned char)digits[-1]))
            digits--;
        if (digits == end || digits[-1] != ':')
            return false;
        end = digits - 1;
    }
    *start = (size_t)(space + 1 - frame->name);
    *length = (size_t)(end - space - 1);
    return end > space + 1;
}

static char *path_of(const struct view_frame *frame)
{
    size_t start, length;

    return find_path(frame, &start, &length)
               ? memory_format("%.*s", (int)length, frame->name + start)
               : NULL;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* How many parts, from the end, two paths have in common. */
static size_t common_parts(const char *a, const char *b)
{
    size_t i = strlen(a), j = strlen(b), parts = 0;

    while (i && j && a[i - 1] == b[j - 1]) {
        i--;
        j--;
        parts += a[i] == '/';
    }
    /* The part that the comparison ended in counts only if it is whole in both. */
    return parts + ((i == 0 && (j == 0 || b[j - 1] == '/')) || (j == 0 && a[i - 1] == '/'));
}

/* Marks by path which profiles have it. */
static void mark_paths(struct profile *paths, uint8_t **marks, size_t *capacity,
                       const struct view *view, uint8_t mark)
{
    uint8_t *seen = memory_allocate_zeroed(view->frame_count, 1);

    for (size_t i = 0; i < view->node_count; i++) {
        uint32_t frame = view->frame[i];
        char *path = seen[frame] ? NULL : path_of(&view->frames[frame]);
        seen[frame] = 1;
        if (!path)
            continue;
        uint32_t number = profile_intern(paths, path);
        size_t before = *capacity;
        *marks = memory_grow(*marks, capacity, (size_t)number + 1, 1);
        memset(*marks + before, 0, *capacity - before);
        (*marks)[number] |= mark;
        free(path);
    }
    free(seen);
}

static int compare_paths(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    int order = strcmp(last_part(x), last_part(y));

    return order ? order : strcmp(x, y);
}

static struct path_list list_paths(const struct profile *paths, const uint8_t *marks, uint8_t mark)
{
    struct path_list list = {0};

    for (uint32_t i = 0; i < paths->string_count; i++)
        if (marks && marks[i] == mark)
            *array_push(list.paths, list.count, list.capacity) = profile_string(paths, i);
    if (list.count)
        qsort(list.paths, list.count, sizeof *list.paths, compare_paths);
    return list;
}

/* Which of `paths` has the most in common with `path`; `count` where several have. */
static size_t best_of(const char *path, const char *const *paths, size_t count)
{
    size_t best = count, most = 0;

    for (size_t i = 0; i < count; i++) {
        size_t parts = common_parts(path, paths[i]);
        if (parts == most)
            best = count;
        if (parts > most) {
            most = parts;
            best = i;
        }
    }
    return best;
}

/* Files of one name: the first `old_count` and `new_count` of the lists. */
static void pair_same_name(struct diff_files *files, const char *const *old, size_t old_count,
                           const char *const *new, size_t new_count)
{
    if (new_count && old_count > MOST_COMPARISONS / new_count)
        return;
    for (size_t i = 0; i < old_count; i++) {
        size_t best = best_of(old[i], new, new_count);
        if (best < new_count && best_of(new[best], old, old_count) == i)
            *map_place(&files->new_of, profile_intern(files->paths, old[i])) =
                profile_intern(files->paths, new[best]);
    }
}

static size_t same_name_count(const struct path_list *list, size_t at, const char *name)
{
    size_t end = at;

    while (end < list->count && !strcmp(last_part(list->paths[end]), name))
        end++;
    return end - at;
}

struct diff_files *diff_files_pair(const struct view *base, const struct view *new)
{
    struct diff_files *files = memory_allocate_zeroed(1, sizeof *files);
    uint8_t *marks = NULL;
    size_t capacity = 0, j = 0;

    files->paths = profile_new();
    mark_paths(files->paths, &marks, &capacity, base, IN_BASE);
    mark_paths(files->paths, &marks, &capacity, new, IN_NEW);
    struct path_list old_paths = list_paths(files->paths, marks, IN_BASE);
    struct path_list new_paths = list_paths(files->paths, marks, IN_NEW);
    for (size_t i = 0; i < old_paths.count;) {
        const char *name = last_part(old_paths.paths[i]);
        while (j < new_paths.count && strcmp(last_part(new_paths.paths[j]), name) < 0)
            j++;
        size_t old_count = same_name_count(&old_paths, i, name);
        size_t new_count = same_name_count(&new_paths, j, name);
        pair_same_name(files, old_paths.paths + i, old_count, new_paths.paths + j, new_count);
        i += old_count;
        j += new_count;
    }
    free(old_paths.paths);
    free(new_paths.paths);
    free(marks);
    return files;
}

void diff_files_free(struct diff_files *files)
{
    profile_free(files->paths);
    map_free(&files->new_of);
    free(files);
}

char *diff_files_name(const struct diff_files *files, const struct view_frame *frame)
{
    size_t start, length;
    char *path = files->new_of.count ? path_of(frame) : NULL;
    uint32_t other =
        path ? map_find(&files->new_of, profile_intern(files->paths, path)) : MAP_ABSENT;

    free(path);
    if (other == MAP_ABSENT || !find_path(frame, &start, &length))
        return memory_duplicate_string(frame->name);
    return memory_format("%.*s%s%s", (int)start, frame->name, profile_string(files->paths, other),
                         frame->name + start + length);
}
