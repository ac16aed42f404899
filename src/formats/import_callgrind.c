/*
 * import_callgrind.c: callgrind.out. It is a call graph: it says what called what and at which
 * cost, but not by which path, so the stacks made here are estimates and the profile says so.
 *
 * What is exact stays exact: each function's own cost, and so the sum. The paths are guessed: from
 * the functions that nothing calls downwards, a function's cost is shared among its own
 * instructions and its callees in the proportions that it has over the whole run. A path stops
 * where a function would come a second time or where less than one part in a hundred thousand is
 * left; what could not be placed stands under one frame, "(no path known)".
 */
#include "common/map.h"
#include "common/memory.h"
#include "formats/formats.h"
#include "profile/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SHARE 100000
#define MOST_NODES  2000000
#define UNPLACED    "(no path known)"

struct edge {
    uint32_t caller, callee; /* numbers of `functions` */
    uint64_t calls, cost;
};

struct graph_function {
    uint32_t function;    /* in the profile */
    uint64_t self, below; /* below: what its calls cost */
    uint64_t placed;      /* of self */
    size_t first_edge, edge_count;
    bool called, on_path;
};

/* Names of one kind, by the number in parentheses. */
struct names {
    struct map numbers; /* number -> string of the profile */
};

struct reader {
    struct profile_maker maker;
    struct names objects, files, functions;
    struct map function_of; /* function of the profile -> number here */
    struct graph_function *graph;
    size_t graph_count, graph_capacity;
    struct edge *edges;
    size_t edge_count, edge_capacity;
    struct map edge_of;
    size_t position_count;
    uint32_t object, function, called_object, called_function; /* strings; NONE: not given */
    uint64_t calls; /* of the call whose cost comes next */
    bool call_next;
    bool has_events;
};

/* "(3) main" names number 3, "(3)" is it again, "main" is a name without number. */
static uint32_t get_name(struct reader *reader, struct names *names, const char *text)
{
    struct profile *profile = reader->maker.profile;
    char *end;

    if (*text != '(' || text[1] < '0' || text[1] > '9')
        return profile_intern(profile, text);
    uint64_t number = strtoull(text + 1, &end, 10);
    if (*end != ')')
        return profile_intern(profile, text);
    uint32_t *place = map_place(&names->numbers, number);
    end++;
    end += strspn(end, " \t");
    if (*end || *place == MAP_ABSENT)
        *place = profile_intern(profile, *end ? end : text);
    return *place;
}

static uint32_t graph_function(struct reader *reader, uint32_t object, uint32_t name)
{
    struct profile *profile = reader->maker.profile;
    const char *path = object == NONE ? "" : profile_string(profile, object);
    uint32_t function = maker_function(&reader->maker, profile_string(profile, name),
                                       strcmp(path, "???") ? path : "");
    uint32_t *place = map_place(&reader->function_of, function);

    if (*place == MAP_ABSENT) {
        *array_push(reader->graph, reader->graph_count, reader->graph_capacity) =
            (struct graph_function){.function = function};
        *place = (uint32_t)reader->graph_count - 1;
    }
    return *place;
}

static bool add_to(uint64_t *sum, uint64_t more)
{
    return !__builtin_add_overflow(*sum, more, sum);
}

static bool add_call(struct reader *reader, uint32_t caller, uint64_t cost)
{
    uint32_t object = reader->called_object == NONE ? reader->object : reader->called_object;
    uint32_t callee = graph_function(reader, object, reader->called_function);
    uint32_t *place = map_place(&reader->edge_of, map_pair(caller, callee));

    if (*place == MAP_ABSENT) {
        *array_push(reader->edges, reader->edge_count, reader->edge_capacity) =
            (struct edge){.caller = caller, .callee = callee};
        *place = (uint32_t)reader->edge_count - 1;
    }
    reader->graph[callee].called |= callee != caller;
    return add_to(&reader->edges[*place].calls, reader->calls) &&
           add_to(&reader->edges[*place].cost, cost);
}

/* The first event of a line of costs; subpositions come before it. False: it is no such line. */
static bool get_cost(const struct reader *reader, char *line, uint64_t *cost)
{
    *cost = 0;
    for (size_t i = 0; i < reader->position_count; i++) {
        line += strspn(line, " \t");
        if (!*line || !strchr("0123456789+-*", *line))
            return false;
        line += strcspn(line, " \t");
    }
    line += strspn(line, " \t");
    if (*line) {
        errno = 0;
        *cost = strtoull(line, NULL, 0);
        return errno == 0 && *line >= '0' && *line <= '9';
    }
    return true;
}

static bool read_cost(struct reader *reader, char *line)
{
    uint64_t cost;

    if (reader->function == NONE || !get_cost(reader, line, &cost))
        return false;
    uint32_t number = graph_function(reader, reader->object, reader->function);
    if (!reader->call_next)
        return add_to(&reader->graph[number].self, cost);
    bool good = reader->called_function != NONE && add_call(reader, number, cost);
    reader->call_next = false;
    reader->called_object = reader->called_function = NONE;
    return good;
}

static void read_positions(struct reader *reader, const char *value)
{
    reader->position_count = 0;
    for (const char *at = value; *(at += strspn(at, " \t")); at += strcspn(at, " \t"))
        reader->position_count++;
}

/* A line "key=value" of the body; false when the key is not one. */
static bool read_assignment(struct reader *reader, const char *key, const char *value)
{
    if (!strcmp(key, "ob"))
        reader->object = get_name(reader, &reader->objects, value);
    else if (!strcmp(key, "fn"))
        reader->function = get_name(reader, &reader->functions, value);
    else if (!strcmp(key, "cob"))
        reader->called_object = get_name(reader, &reader->objects, value);
    else if (!strcmp(key, "cfn"))
        reader->called_function = get_name(reader, &reader->functions, value);
    else if (!strcmp(key, "fl") || !strcmp(key, "fi") || !strcmp(key, "fe") ||
             !strcmp(key, "cfi") || !strcmp(key, "cfl") || !strcmp(key, "jfi"))
        get_name(reader, &reader->files, value);
    else if (!strcmp(key, "jfn"))
        get_name(reader, &reader->functions, value); /* where a jump goes; costs nothing */
    else if (!strcmp(key, "calls")) {
        reader->calls = strtoull(value, NULL, 0);
        reader->call_next = true;
    } else
        return !strcmp(key, "jump") || !strcmp(key, "jcnd");
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    size_t key = strspn(line, "abcdefghijklmnopqrstuvwxyz");

    line[strcspn(line, "\r")] = 0;
    if (*line == 0 || *line == '#')
        return true;
    if (strchr("0123456789+-*", *line))
        return read_cost(reader, line);
    if (key && line[key] == '=') {
        line[key] = 0;
        return read_assignment(reader, line, line + key + 1);
    }
    if (!strncmp(line, "positions:", 10))
        read_positions(reader, line + 10);
    if (!strncmp(line, "events:", 7))
        reader->has_events = true;
    return strchr(line, ':') != NULL; /* any other header */
}

static int compare_edges(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->cost != y->cost ? (x->cost > y->cost ? -1 : 1)
                              : (x->callee > y->callee) - (x->callee < y->callee);
}

static bool link_edges(struct reader *reader)
{
    if (reader->edge_count)
        qsort(reader->edges, reader->edge_count, sizeof *reader->edges, compare_edges);
    for (size_t i = 0; i < reader->edge_count; i++) {
        struct graph_function *caller = &reader->graph[reader->edges[i].caller];
        if (caller->edge_count++ == 0)
            caller->first_edge = i;
        if (reader->edges[i].caller != reader->edges[i].callee &&
            !add_to(&caller->below, reader->edges[i].cost))
            return false;
    }
    return true;
}

/* Part of `whole` that `part` of `of` is. */
static uint64_t share(uint64_t whole, uint64_t part, uint64_t of)
{
    return of ? (uint64_t)((unsigned __int128)whole * part / of) : 0;
}

struct step {
    uint32_t number, context;
    uint64_t cost; /* what reached it */
    size_t edge;   /* the next one to go down */
};

struct walk {
    struct step *steps;
    size_t step_count, step_capacity;
    uint64_t least;
    size_t nodes;
};

static void go_down(struct reader *reader, struct walk *walk, uint32_t parent, uint32_t number,
                    uint64_t cost, uint64_t calls)
{
    struct graph_function *function = &reader->graph[number];
    uint32_t context = maker_context(&reader->maker, parent, function->function);
    uint64_t all = function->self + function->below;
    uint64_t own = share(cost, function->self, all);

    if (own > function->self - function->placed)
        own = function->self - function->placed;
    function->placed += own;
    maker_add(&reader->maker, context, own, calls);
    function->on_path = true;
    walk->nodes++;
    *array_push(walk->steps, walk->step_count, walk->step_capacity) =
        (struct step){number, context, cost, 0};
}

/* Depth first from one function that nothing calls. */
static void place_from(struct reader *reader, struct walk *walk, uint32_t number)
{
    const struct graph_function *start = &reader->graph[number];

    go_down(reader, walk, 0, number, start->self + start->below, 0);
    while (walk->step_count) {
        struct step *step = &walk->steps[walk->step_count - 1];
        struct graph_function *function = &reader->graph[step->number];
        if (step->edge == function->edge_count) {
            function->on_path = false;
            walk->step_count--;
            continue;
        }
        const struct edge *edge = &reader->edges[function->first_edge + step->edge++];
        uint64_t all = function->self + function->below;
        uint64_t cost = share(step->cost, edge->cost, all);
        if (reader->graph[edge->callee].on_path || cost <= walk->least || cost == 0 ||
            walk->nodes >= MOST_NODES)
            continue;
        go_down(reader, walk, step->context, edge->callee, cost,
                share(edge->calls, step->cost, all));
    }
}

static int place_costs(struct reader *reader, const char *name, struct error *error)
{
    struct walk walk = {0};
    uint64_t total = 0;

    for (size_t i = 0; i < reader->graph_count; i++)
        if (!add_to(&total, reader->graph[i].self) ||
            !add_to(&(uint64_t){reader->graph[i].self}, reader->graph[i].below))
            return error_set(error, "%s: the costs exceed 64 bits", name);
    walk.least = total / LEAST_SHARE;
    for (uint32_t i = 0; i < reader->graph_count; i++)
        if (!reader->graph[i].called)
            place_from(reader, &walk, i);
    free(walk.steps);

    uint32_t unplaced = NONE;
    for (size_t i = 0; i < reader->graph_count; i++) {
        const struct graph_function *function = &reader->graph[i];
        if (function->placed == function->self)
            continue;
        if (unplaced == NONE)
            unplaced =
                maker_context(&reader->maker, 0, maker_function(&reader->maker, UNPLACED, ""));
        uint32_t context = maker_context(&reader->maker, unplaced, function->function);
        maker_add(&reader->maker, context, function->self - function->placed, 0);
    }
    return OK;
}

static void reader_free(struct reader *reader)
{
    maker_discard(&reader->maker);
    map_free(&reader->objects.numbers);
    map_free(&reader->files.numbers);
    map_free(&reader->functions.numbers);
    map_free(&reader->function_of);
    map_free(&reader->edge_of);
    free(reader->graph);
    free(reader->edges);
}

static int callgrind_read(const struct file_bytes *input, const char *name,
                          struct profile **profile, struct error *error)
{
    struct reader reader = {
        .position_count = 1,
        .object = NONE,
        .function = NONE,
        .called_object = NONE,
        .called_function = NONE,
    };
    char *at = (char *)input->bytes;
    size_t number = 0;
    int result = OK;

    *profile = NULL;
    if (memchr(input->bytes, 0, input->size_bytes))
        return error_set(error, "%s: not callgrind's output: has a zero byte", name);
    maker_start(&reader.maker, "import:callgrind");
    for (char *line; result == OK && (line = strsep(&at, "\n"));) {
        number++;
        if (!read_line(&reader, line))
            result = error_set(error, "%s: line %zu: not callgrind's output", name, number);
    }
    if (result == OK && (!reader.has_events || reader.graph_count == 0))
        result = error_set(error, "%s: not callgrind's output: no events or no functions", name);
    if (result == OK && !link_edges(&reader))
        result = error_set(error, "%s: the costs exceed 64 bits", name);
    if (result == OK)
        result = place_costs(&reader, name, error);
    if (result == OK) {
        struct profile *made = reader.maker.profile;
        made->meta.command = profile_intern(made, "callgrind: a call graph; stacks are estimates");
        *profile = maker_finish(&reader.maker);
    }
    reader_free(&reader);
    return result;
}

const struct import_format import_callgrind = {
    .name = "callgrind",
    .summary = "callgrind.out: a call graph, so its stacks are estimates",
    .read = callgrind_read,
};
