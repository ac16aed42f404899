/*
 * tree.c: the paths that were seen, and what was counted on each.
 */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

struct node {
    uint32_t parent;
    const char *name;
    uint64_t count;  /* since the last dump */
    uint64_t dumped; /* before it */
};

static struct node *nodes;
static size_t node_count, node_capacity;
static uint32_t *node_index;
static size_t node_index_size;

static size_t node_slot(uint32_t parent, const char *name)
{
    uint64_t hash = (parent * 0x9e3779b97f4a7c15u) ^ ((uintptr_t)name * 0xc2b2ae3d27d4eb4fu);
    size_t slot = (hash ^ hash >> 29) & (node_index_size - 1);
    while (node_index[slot]) {
        struct node *node = &nodes[node_index[slot]];
        if (node->parent == parent && node->name == name)
            break;
        slot = (slot + 1) & (node_index_size - 1);
    }
    return slot;
}

static void grow_nodes(void)
{
    node_capacity = node_capacity ? node_capacity * 2 : 1024;
    nodes = realloc(nodes, node_capacity * sizeof *nodes);
    free(node_index);
    node_index_size = node_capacity * 4;
    node_index = calloc(node_index_size, sizeof *node_index);
    for (uint32_t i = 1; i < node_count; i++)
        node_index[node_slot(nodes[i].parent, nodes[i].name)] = i;
}

const char *tree_intern(const char *name)
{
    static const char **names;
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    names = realloc(names, (count + 1) * sizeof *names);
    return names[count++] = strdup(name);
}

static void make_root(void)
{
    if (node_count + 1 >= node_capacity)
        grow_nodes();
    if (node_count == 0)
        nodes[node_count++] = (struct node){0};
}

uint32_t tree_child(uint32_t parent, const char *name)
{
    make_root();
    size_t slot = node_slot(parent, name);
    if (!node_index[slot]) {
        nodes[node_count] = (struct node){.parent = parent, .name = name};
        node_index[slot] = (uint32_t)node_count++;
    }
    return node_index[slot];
}

uint32_t tree_parent(uint32_t node)
{
    return nodes[node].parent;
}

const char *tree_name(uint32_t node)
{
    return node ? nodes[node].name : "";
}

void tree_count(uint32_t node)
{
    make_root();
    nodes[node].count++;
}

void tree_end_part(bool keep)
{
    for (size_t i = 0; i < node_count; i++) {
        nodes[i].dumped += keep ? nodes[i].count : 0;
        nodes[i].count = 0;
    }
}

static void print_path(FILE *out, uint32_t node)
{
    size_t depth = 0;
    for (uint32_t i = node; i; i = nodes[i].parent)
        depth++;
    uint32_t *path = malloc(depth * sizeof *path);
    size_t place = depth;
    for (uint32_t i = node; i; i = nodes[i].parent)
        path[--place] = i;
    for (place = 0; place < depth; place++)
        fprintf(out, "%s%s", place ? ";" : "", nodes[path[place]].name);
    free(path);
}

void tree_report(FILE *out)
{
    uint64_t total = 0;
    tree_end_part(true);
    for (uint32_t i = 0; i < node_count; i++)
        total += nodes[i].dumped;
    fprintf(out, "total %llu\n", (unsigned long long)total);
    for (uint32_t i = 1; i < node_count; i++) {
        if (!nodes[i].dumped)
            continue;
        print_path(out, i);
        fprintf(out, " %llu\n", (unsigned long long)nodes[i].dumped);
    }
}
