/*
 * rust_v0.c: demangles Rust's "v0" symbols (RFC 2603).
 *
 * libiberty has a demangler for these too, and this one prints what that prints. But a symbol of
 * 74 bytes can keep libiberty busy for years: the number of lifetimes of a binder is a number in
 * the symbol, and inside of an impl path they are counted without being printed. Here every step
 * is paid from a budget, printed or not.
 *
 *      path      C crate | M impl | X, Y trait impl | N namespace path name | I path generics E
 *      type      a letter | path | R Q P O A S T F D ...
 *      B number  the same as at that place earlier in the symbol: where hostile symbols explode
 *
 * Names of Rust's generated items follow rustc: {closure#0}, {shim:vtable#0}. Constants of
 * structured types, which are unstable Rust, are not known.
 */
#include "symbols/rust_v0.h"
#include "common/memory.h"
#include "symbols/punycode.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME_BYTES (1024 * 1024)
#define DEEPEST_NESTING    500
#define MOST_STEPS         (4 * 1024 * 1024)

struct parser {
    const char *symbol; /* after _R; backward references count from here */
    size_t length, at;
    char *output;
    size_t output_length, output_capacity;
    uint64_t bound_lifetimes; /* of the binders around */
    int depth;
    int64_t steps_left;
    bool silent; /* parse, but do not print */
    bool failed;
};

static void print_path(struct parser *parser, bool in_value);
static void print_type(struct parser *parser);
static void print_constant(struct parser *parser);

/* ---- output ---- */

static void print_bytes(struct parser *parser, const char *text, size_t length)
{
    if ((parser->steps_left -= (int64_t)length + 1) < 0)
        parser->failed = true;
    if (parser->failed || parser->silent || length == 0)
        return;
    if (parser->output_length + length > LONGEST_NAME_BYTES) {
        parser->failed = true;
        return;
    }
    parser->output = memory_grow(parser->output, &parser->output_capacity,
                                 parser->output_length + length + 1, sizeof(char));
    memcpy(parser->output + parser->output_length, text, length);
    parser->output_length += length;
    parser->output[parser->output_length] = '\0';
}

static void print(struct parser *parser, const char *text)
{
    print_bytes(parser, text, strlen(text));
}

static void print_number(struct parser *parser, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, number);
    print(parser, text);
}

/* ---- input ---- */

static char peek(const struct parser *parser)
{
    return !parser->failed && parser->at < parser->length ? parser->symbol[parser->at] : '\0';
}

/* The next character; the end of the symbol is a failure. */
static char next(struct parser *parser)
{
    char character = peek(parser);

    if (!character || --parser->steps_left < 0)
        parser->failed = true;
    else
        parser->at++;
    return parser->failed ? '\0' : character;
}

static bool eat(struct parser *parser, char character)
{
    if (peek(parser) != character)
        return false;
    next(parser);
    return true;
}

/* Whether a list goes on: false at its E, which is consumed, and after a failure. */
static bool list_continues(struct parser *parser)
{
    return !eat(parser, 'E') && !parser->failed && peek(parser);
}

/* `_` is 0; otherwise digits, then `_`, are their value and one. */
static uint64_t read_base_62(struct parser *parser)
{
    uint64_t value = 0;

    if (eat(parser, '_'))
        return 0;
    while (!eat(parser, '_')) {
        char digit = next(parser);
        unsigned worth = isdigit((unsigned char)digit)   ? (unsigned)(digit - '0')
                         : islower((unsigned char)digit) ? (unsigned)(digit - 'a' + 10)
                                                         : (unsigned)(digit - 'A' + 36);
        if (!isalnum((unsigned char)digit) || __builtin_mul_overflow(value, 62, &value) ||
            __builtin_add_overflow(value, worth, &value)) {
            parser->failed = true;
            return 0;
        }
    }
    if (__builtin_add_overflow(value, 1, &value))
        parser->failed = true;
    return value;
}

/* 0 without the tag; the number and one with it. */
static uint64_t read_optional_number(struct parser *parser, char tag)
{
    uint64_t value;

    if (!eat(parser, tag))
        return 0;
    value = read_base_62(parser);
    if (value == UINT64_MAX)
        parser->failed = true;
    return value + 1;
}

struct identifier {
    const char *text;
    size_t length;
    bool punycode;
};

static struct identifier read_identifier(struct parser *parser)
{
    struct identifier identifier = {.punycode = eat(parser, 'u')};
    size_t length = 0;

    if (!isdigit((unsigned char)peek(parser)))
        parser->failed = true;
    if (!eat(parser, '0'))
        while (isdigit((unsigned char)peek(parser)) && length < parser->length)
            length = length * 10 + (size_t)(next(parser) - '0');
    eat(parser, '_'); /* keeps a name that begins with a digit apart from its length */
    if (parser->failed || length > parser->length - parser->at) {
        parser->failed = true;
        return identifier;
    }
    identifier.text = parser->symbol + parser->at;
    identifier.length = length;
    parser->at += length;
    return identifier;
}

static void print_identifier(struct parser *parser, struct identifier identifier)
{
    char decoded[PUNYCODE_MOST_BYTES];

    if (parser->failed)
        return;
    if (!identifier.punycode) {
        print_bytes(parser, identifier.text, identifier.length);
        return;
    }
    size_t length = punycode_decode(identifier.text, identifier.length, decoded);
    if (length == 0)
        parser->failed = true;
    print_bytes(parser, decoded, length);
}

/* ---- the grammar ---- */

static bool enter(struct parser *parser)
{
    if (++parser->depth > DEEPEST_NESTING || --parser->steps_left < 0)
        parser->failed = true;
    return !parser->failed;
}

/* After a B: prints by `rule` what stands earlier in the symbol. */
static void print_reference(struct parser *parser, void (*rule)(struct parser *))
{
    size_t tag = parser->at - 1;
    uint64_t target = read_base_62(parser);
    size_t resume = parser->at;

    if (parser->failed || target >= tag) {
        parser->failed = true;
        return;
    }
    parser->at = (size_t)target;
    rule(parser);
    parser->at = resume;
}

static void print_path_in_type(struct parser *parser)
{
    print_path(parser, false);
}

static void print_path_in_value(struct parser *parser)
{
    print_path(parser, true);
}

static void print_lifetime(struct parser *parser, uint64_t index)
{
    if (index == 0) {
        print(parser, "'_");
        return;
    }
    if (index > parser->bound_lifetimes) {
        parser->failed = true;
        return;
    }
    uint64_t depth = parser->bound_lifetimes - index;
    char letter[] = {'\'', (char)('a' + depth % 26), '\0'};
    if (depth < 26) {
        print(parser, letter);
    } else {
        print(parser, "'_");
        print_number(parser, depth);
    }
}

/* for<'a, 'b>; the caller takes the lifetimes away again. */
static void print_binder(struct parser *parser)
{
    uint64_t count = read_optional_number(parser, 'G');

    if (parser->failed || count == 0)
        return;
    print(parser, "for<");
    for (uint64_t i = 0; i < count && !parser->failed; i++) {
        if (i)
            print(parser, ", ");
        parser->bound_lifetimes++;
        print_lifetime(parser, 1);
    }
    print(parser, "> ");
}

static void print_generic(struct parser *parser)
{
    if (eat(parser, 'L'))
        print_lifetime(parser, read_base_62(parser));
    else if (eat(parser, 'K'))
        print_constant(parser);
    else
        print_type(parser);
}

static void print_generics(struct parser *parser)
{
    for (int i = 0; list_continues(parser); i++) {
        if (i)
            print(parser, ", ");
        print_generic(parser);
    }
}

static void print_name_in_namespace(struct parser *parser, bool in_value)
{
    char namespace = next(parser);

    print_path(parser, in_value);
    uint64_t disambiguator = read_optional_number(parser, 's');
    struct identifier name = read_identifier(parser);
    if (parser->failed)
        return;
    if (islower((unsigned char)namespace)) {
        if (name.length) {
            print(parser, "::");
            print_identifier(parser, name);
        }
        return;
    }
    if (!isupper((unsigned char)namespace)) {
        parser->failed = true;
        return;
    }
    print(parser, "::{");
    if (namespace == 'C')
        print(parser, "closure");
    else if (namespace == 'S')
        print(parser, "shim");
    else
        print_bytes(parser, &namespace, 1);
    if (name.length) {
        print(parser, ":");
        print_identifier(parser, name);
    }
    print(parser, "#");
    print_number(parser, disambiguator);
    print(parser, "}");
}

/* The path of an impl says where it was written, which is not shown. */
static void skip_impl_path(struct parser *parser)
{
    bool was_silent = parser->silent;

    read_optional_number(parser, 's');
    parser->silent = true;
    print_path(parser, false);
    parser->silent = was_silent;
}

static void print_impl(struct parser *parser, char tag)
{
    if (tag != 'Y')
        skip_impl_path(parser);
    print(parser, "<");
    print_type(parser);
    if (tag != 'M') {
        print(parser, " as ");
        print_path(parser, false);
    }
    print(parser, ">");
}

static void print_path(struct parser *parser, bool in_value)
{
    if (!enter(parser))
        return;
    char tag = next(parser);
    switch (tag) {
    case 'C':
        read_optional_number(parser, 's');
        print_identifier(parser, read_identifier(parser));
        break;
    case 'N':
        print_name_in_namespace(parser, in_value);
        break;
    case 'M':
    case 'X':
    case 'Y':
        print_impl(parser, tag);
        break;
    case 'I':
        print_path(parser, in_value);
        print(parser, in_value ? "::<" : "<");
        print_generics(parser);
        print(parser, ">");
        break;
    case 'B':
        print_reference(parser, in_value ? print_path_in_value : print_path_in_type);
        break;
    default:
        parser->failed = true;
    }
    parser->depth--;
}

/* A trait whose generics stay open, for the associated types that follow it; whether they do. */
static bool print_open_trait(struct parser *parser)
{
    if (!enter(parser))
        return false;
    bool open = false;
    if (eat(parser, 'B')) {
        size_t tag = parser->at - 1;
        uint64_t target = read_base_62(parser);
        size_t resume = parser->at;
        if (parser->failed || target >= tag) {
            parser->failed = true;
            return false;
        }
        parser->at = (size_t)target;
        open = print_open_trait(parser);
        parser->at = resume;
    } else if (eat(parser, 'I')) {
        print_path(parser, false);
        print(parser, "<");
        print_generics(parser);
        open = true;
    } else {
        print_path(parser, false);
    }
    parser->depth--;
    return open;
}

static void print_dynamic_trait(struct parser *parser)
{
    bool open = print_open_trait(parser);

    while (eat(parser, 'p')) {
        print(parser, open ? ", " : "<");
        open = true;
        print_identifier(parser, read_identifier(parser));
        print(parser, " = ");
        print_type(parser);
    }
    if (open)
        print(parser, ">");
}

static void print_dynamic_type(struct parser *parser)
{
    uint64_t outer_lifetimes = parser->bound_lifetimes;

    print(parser, "dyn ");
    print_binder(parser);
    for (int i = 0; list_continues(parser); i++) {
        if (i)
            print(parser, " + ");
        print_dynamic_trait(parser);
    }
    parser->bound_lifetimes = outer_lifetimes;
    if (!eat(parser, 'L'))
        parser->failed = true;
    uint64_t lifetime = read_base_62(parser);
    if (lifetime) {
        print(parser, " + ");
        print_lifetime(parser, lifetime);
    }
}

static void print_abi(struct parser *parser)
{
    print(parser, "extern \"");
    if (eat(parser, 'C')) {
        print(parser, "C");
    } else {
        struct identifier abi = read_identifier(parser);
        for (size_t i = 0; i < abi.length && !parser->failed; i++)
            print_bytes(parser, abi.text[i] == '_' ? "-" : &abi.text[i], 1);
    }
    print(parser, "\" ");
}

static void print_function_type(struct parser *parser)
{
    uint64_t outer_lifetimes = parser->bound_lifetimes;

    print_binder(parser);
    if (eat(parser, 'U'))
        print(parser, "unsafe ");
    if (eat(parser, 'K'))
        print_abi(parser);
    print(parser, "fn(");
    for (int i = 0; list_continues(parser); i++) {
        if (i)
            print(parser, ", ");
        print_type(parser);
    }
    print(parser, ")");
    if (!eat(parser, 'u')) {
        print(parser, " -> ");
        print_type(parser);
    }
    parser->bound_lifetimes = outer_lifetimes;
}

static void print_tuple(struct parser *parser)
{
    int count = 0;

    print(parser, "(");
    for (; list_continues(parser); count++) {
        if (count)
            print(parser, ", ");
        print_type(parser);
    }
    print(parser, count == 1 ? ",)" : ")");
}

static void print_borrow(struct parser *parser, bool mutable)
{
    print(parser, "&");
    if (eat(parser, 'L')) {
        uint64_t lifetime = read_base_62(parser);
        if (lifetime) {
            print_lifetime(parser, lifetime);
            print(parser, " ");
        }
    }
    if (mutable)
        print(parser, "mut ");
    print_type(parser);
}

static const char *const basic_types[26] = {
    ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
    ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
    ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
    ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
    ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
    ['z' - 'a'] = "!",
};

static void print_compound_type(struct parser *parser, char tag)
{
    switch (tag) {
    case 'R':
    case 'Q':
        print_borrow(parser, tag == 'Q');
        break;
    case 'P':
    case 'O':
        print(parser, tag == 'P' ? "*const " : "*mut ");
        print_type(parser);
        break;
    case 'A':
    case 'S':
        print(parser, "[");
        print_type(parser);
        if (tag == 'A') {
            print(parser, "; ");
            print_constant(parser);
        }
        print(parser, "]");
        break;
    case 'T':
        print_tuple(parser);
        break;
    case 'F':
        print_function_type(parser);
        break;
    case 'D':
        print_dynamic_type(parser);
        break;
    case 'B':
        print_reference(parser, print_type);
        break;
    default: /* a path: that rule wants to see the tag */
        parser->at--;
        print_path(parser, false);
    }
}

static void print_type(struct parser *parser)
{
    if (!enter(parser))
        return;
    char tag = next(parser);
    if (islower((unsigned char)tag)) {
        const char *name = basic_types[tag - 'a'];
        if (name)
            print(parser, name);
        else
            parser->failed = true;
    } else if (tag) {
        print_compound_type(parser, tag);
    }
    parser->depth--;
}

/* Hexadecimal digits up to `_`; how many there were, their value if they are at most 16. */
static size_t read_hexadecimal(struct parser *parser, uint64_t *value)
{
    size_t count = 0;

    for (*value = 0; !eat(parser, '_'); count++) {
        char digit = next(parser);
        if (!isdigit((unsigned char)digit) && !(digit >= 'a' && digit <= 'f')) {
            parser->failed = true;
            return 0;
        }
        *value = *value << 4 | (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return count;
}

static void print_integer(struct parser *parser)
{
    size_t start = parser->at;
    uint64_t value;
    size_t digits = read_hexadecimal(parser, &value);

    if (digits <= 16) {
        print_number(parser, value);
    } else {
        print(parser, "0x");
        print_bytes(parser, parser->symbol + start, digits);
    }
}

static void print_character(struct parser *parser)
{
    uint64_t value;

    if (read_hexadecimal(parser, &value) > 8 || value > 0x10ffff || parser->failed) {
        parser->failed = true;
        return;
    }
    print(parser, "'");
    if (value >= 0x20 && value < 0x7f && value != '\'' && value != '\\') {
        print_bytes(parser, &(char){(char)value}, 1);
    } else {
        char escaped[16];
        snprintf(escaped, sizeof escaped, "\\u{%" PRIx64 "}", value);
        print(parser, escaped);
    }
    print(parser, "'");
}

static void print_constant(struct parser *parser)
{
    uint64_t value;

    if (!enter(parser))
        return;
    char type = next(parser);
    switch (type) {
    case 'B':
        print_reference(parser, print_constant);
        break;
    case 'p':
        print(parser, "_");
        break;
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i':
        if (eat(parser, 'n'))
            print(parser, "-");
        print_integer(parser);
        break;
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
        print_integer(parser);
        break;
    case 'b':
        if (read_hexadecimal(parser, &value) != 1 || value > 1)
            parser->failed = true;
        print(parser, value ? "true" : "false");
        break;
    case 'c':
        print_character(parser);
        break;
    default:
        parser->failed = true;
    }
    parser->depth--;
}

char *rust_v0_demangle(const char *symbol)
{
    if (symbol[0] != '_' || symbol[1] != 'R' || !isupper((unsigned char)symbol[2]))
        return NULL;
    struct parser parser = {.symbol = symbol + 2, .steps_left = MOST_STEPS};
    parser.length = strcspn(parser.symbol, ".$"); /* what tools append is not part of the name */
    print_path(&parser, true);
    if (!parser.failed && parser.at < parser.length) {
        parser.silent = true; /* the crate that asked for this copy */
        print_path(&parser, false);
    }
    if (!parser.failed && parser.at == parser.length && parser.output)
        return parser.output;
    free(parser.output);
    return NULL;
}
