/*
 * demangle.c: libiberty's demanglers, with a limit; Rust's new mangling is rust_v0.c's.
 *
 * Rust comes first: its old mangling is C++'s with a hash at the end, and the C++ demangler would
 * take it and show the hash. Without DMGL_VERBOSE libiberty leaves the hash out, and writes
 * std::string where the mangled name says so.
 *
 * A mangled name refers back to its own parts, so a hundred bytes can stand for more text than
 * there is memory. The callback interface hands the text over in pieces and keeps nothing on the
 * heap meanwhile, so leaving it by longjmp when the text passes the limit is safe.
 */
#include "symbols/demangle.h"
#include "common/memory.h"
#include "symbols/rust_v0.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* The longest names seen in the wild, from deep template libraries, are a tenth of this. */
#define LONGEST_NAME_BYTES (1024 * 1024)
/* libiberty reserves stack in proportion to the length of the mangled name. */
#define LONGEST_SYMBOL_BYTES (64 * 1024)

struct output {
    char *text;
    size_t length, capacity;
    jmp_buf too_long;
};

static void output_append(const char *piece, size_t length, void *opaque)
{
    struct output *output = opaque;

    if (length == 0)
        return;
    if (output->length + length > LONGEST_NAME_BYTES)
        longjmp(output->too_long, 1);
    output->text =
        memory_grow(output->text, &output->capacity, output->length + length + 1, sizeof(char));
    memcpy(output->text + output->length, piece, length);
    output->length += length;
    output->text[output->length] = '\0';
}

static int demangle_either(const char *symbol, struct output *output)
{
    if (rust_demangle_callback(symbol, DMGL_NO_OPTS, output_append, output))
        return 1;
    output->length = 0;
    return cplus_demangle_v3_callback(symbol, DMGL_PARAMS | DMGL_ANSI, output_append, output);
}

char *demangle_symbol(const char *symbol)
{
    if (symbol[0] != '_' || strlen(symbol) > LONGEST_SYMBOL_BYTES)
        return NULL;
    if (symbol[1] == 'R')
        return rust_v0_demangle(symbol);
    struct output output = {0};
    if (!setjmp(output.too_long) && demangle_either(symbol, &output) && output.length)
        return output.text;
    free(output.text);
    return NULL;
}
