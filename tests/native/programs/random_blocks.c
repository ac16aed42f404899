/*
 * random_blocks.c: makes random blocks of instructions, runs each from random registers, flags and
 * memory, and prints a hash of what they leave. Alone and under an engine the hashes must agree.
 *
 *   random_blocks COUNT SEED
 *
 * Blocks are made in memory that is writable and executable, in memory that is flipped between
 * the two, and below 2 GB; so that operands relative to rip are near and far of the code cache.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct state {
    uint64_t registers[16]; /* [4] is not used, [15] holds the state's address */
    uint64_t flags;
    uint64_t unused;
    uint64_t vectors[16][2];
};

static uint64_t random_state;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static uint8_t *out;
static void put(unsigned byte)
{
    *out++ = byte;
}
static void put32(uint32_t word)
{
    memcpy(out, &word, 4);
    out += 4;
}

/* Any register but rsp and r15. */
static unsigned pick_register(void)
{
    unsigned reg;
    do
        reg = next_random() % 15;
    while (reg == 4);
    return reg;
}

static void put_rex(unsigned wide, unsigned reg, unsigned rm)
{
    put(0x40 | wide << 3 | (reg >> 3) << 2 | rm >> 3);
}

static void put_modrm(unsigned reg, unsigned rm)
{
    put(0xc0 | (reg & 7) << 3 | (rm & 7));
}

static uint8_t *data; /* the block's memory operand, reached from rip */

static void put_rip_operand(unsigned reg, unsigned trailing)
{
    put(0x05 | (reg & 7) << 3);
    put32((uint32_t)(data + next_random() % 32 * 8 - (out + 4 + trailing)));
}

static void put_arithmetic(void)
{
    unsigned a = pick_register(), b = pick_register(), wide = next_random() & 1;
    put_rex(wide, a, b);
    put((next_random() % 8) << 3 | 1 | (next_random() & 2));
    put_modrm(a, b);
}

static void put_arithmetic_memory(void)
{
    unsigned a = pick_register(), wide = next_random() & 1;
    put_rex(wide, a, 0);
    put((next_random() % 8) << 3 | 1 | (next_random() & 2));
    put_rip_operand(a, 0);
}

static void put_immediate(void)
{
    unsigned a = pick_register();
    put_rex(next_random() & 1, 0, a);
    put(0x83);
    put_modrm(next_random() % 8, a);
    put(next_random());
}

static void put_immediate_memory(void)
{
    put_rex(next_random() & 1, 0, 0);
    put(0x81);
    put_rip_operand(next_random() % 8, 4);
    put32(next_random());
}

static void put_shift(void)
{
    static const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 7};
    unsigned a = pick_register(), form = next_random() % 3;
    put_rex(next_random() & 1, 0, a);
    put(form == 0 ? 0xc1 : form == 1 ? 0xd1 : 0xd3);
    put_modrm(kinds[next_random() % 7], a);
    if (form == 0)
        put(1); /* other counts leave some flags undefined */
}

static void put_condition(void)
{
    unsigned a = pick_register(), b = pick_register(), set = next_random() & 1;
    put_rex(!set, set ? 0 : a, b);
    put(0x0f);
    put((set ? 0x90 : 0x40) | next_random() % 16);
    put_modrm(set ? 0 : a, b);
}

static void put_one_operand(void)
{
    unsigned a = pick_register();
    put_rex(next_random() & 1, 0, a);
    put(0xf7);
    put_modrm(next_random() & 1 ? 2 : 3, a);
}

static void put_increment(void)
{
    put_rex(next_random() & 1, 0, 0);
    unsigned a = pick_register();
    out[-1] |= a >> 3;
    put(0xff);
    put_modrm(next_random() & 1, a);
}

static void put_vector(void)
{
    static const uint8_t operations[] = {0xd4, 0xef, 0xfe, 0xeb, 0xdb, 0xfa, 0x6c, 0x6f};
    unsigned a = next_random() % 16, b = next_random() % 16;
    bool memory = next_random() & 1;
    put(0x66);
    put_rex(0, a, memory ? 0 : b);
    put(0x0f);
    put(operations[next_random() % 8]);
    if (!memory) {
        put_modrm(a, b);
        return;
    }
    put(0x05 | (a & 7) << 3);
    put32((uint32_t)(data + next_random() % 16 * 16 - (out + 4)));
}

static void put_lea(void)
{
    unsigned a = pick_register(), b = pick_register();
    put_rex(1, a, b);
    put(0x8d);
    put(0x80 | (a & 7) << 3 | (b & 7));
    if ((b & 7) == 4)
        put(0x24);
    put32(next_random());
}

static void put_push_pop(void)
{
    unsigned a = pick_register(), b = pick_register();
    if (a >= 8)
        put(0x41);
    put(0x50 | (a & 7));
    if (b >= 8)
        put(0x41);
    put(0x58 | (b & 7));
}

static void put_carry(void)
{
    put((const uint8_t[]){0xf8, 0xf9, 0xf5}[next_random() % 3]);
}

static void put_one(void);

/* A branch over one or two instructions. */
static void put_branch(void)
{
    put(0x70 | next_random() % 16);
    uint8_t *distance = out;
    put(0);
    put_one();
    if (next_random() & 1)
        put_one();
    *distance = out - (distance + 1);
}

static void put_count_down(void)
{
    put(0xb9); /* mov ecx, n */
    put32(next_random() % 5 + 1);
    uint8_t *start = out;
    put_increment(); /* may take rcx out of its way: the block is cut short by hand */
    if ((start[0] & 1) == 0 && (start[2] & 7) == 1)
        out = start, put(0x90);
    put(0xe2);
    put(start - (out + 1));
}

static void put_call(void)
{
    put(0xe8); /* call over a jump to a body that returns */
    put32(2);
    put(0xeb);
    uint8_t *distance = out;
    put(0);
    put_arithmetic();
    if (next_random() & 1)
        put_vector();
    put(0xc3);
    *distance = out - (distance + 1);
}

static void put_one(void)
{
    static void (*const kinds[])(void) = {
        put_arithmetic,  put_arithmetic_memory,
        put_immediate,   put_immediate_memory,
        put_shift,       put_condition,
        put_one_operand, put_increment,
        put_vector,      put_lea,
        put_push_pop,    put_carry,
    };
    kinds[next_random() % (sizeof kinds / sizeof *kinds)]();
}

static void put_body(void)
{
    for (unsigned i = 0; i < 24; i++)
        switch (next_random() % 12) {
        case 0:
            put_branch();
            break;
        case 1:
            put_call();
            break;
        case 2:
            put_count_down();
            break;
        default:
            put_one();
        }
}

/* void block(struct state *): loads the state, runs, stores it; keeps what the ABI wants kept. */
static void put_block(uint8_t *at)
{
    static const uint8_t kept[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
    static const uint8_t back[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b};
    out = at;
    for (unsigned i = 0; i < sizeof kept; i++)
        put(kept[i]);
    put(0x49), put(0x89), put(0xff); /* mov r15, rdi */
    for (unsigned i = 0; i < 16; i++) {
        put(0xf3), put_rex(0, i, 15), put(0x0f), put(0x6f); /* movdqu xmmI, [r15 + ...] */
        put(0x87 | (i & 7) << 3);
        put32(offsetof(struct state, vectors) + 16 * i);
    }
    put(0x41), put(0xff), put(0xb7), put32(offsetof(struct state, flags)), put(0x9d);
    for (unsigned i = 0; i < 15; i++) {
        if (i == 4)
            continue;
        put_rex(1, i, 15), put(0x8b), put(0x87 | (i & 7) << 3), put32(8 * i);
    }
    put_body();
    for (unsigned i = 0; i < 15; i++) {
        if (i == 4)
            continue;
        put_rex(1, i, 15), put(0x89), put(0x87 | (i & 7) << 3), put32(8 * i);
    }
    put(0x9c), put(0x41), put(0x8f), put(0x87), put32(offsetof(struct state, flags));
    for (unsigned i = 0; i < 16; i++) {
        put(0xf3), put_rex(0, i, 15), put(0x0f), put(0x7f);
        put(0x87 | (i & 7) << 3);
        put32(offsetof(struct state, vectors) + 16 * i);
    }
    for (unsigned i = 0; i < sizeof back; i++)
        put(back[i]);
    put(0xc3);
}

static uint64_t hash(uint64_t sum, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t run_block(uint8_t *code)
{
    static struct state state;
    for (unsigned i = 0; i < 16; i++)
        state.registers[i] = next_random();
    state.flags = 0x202 | (next_random() & 0x8d5);
    for (unsigned i = 0; i < 16; i++)
        state.vectors[i][0] = next_random(), state.vectors[i][1] = next_random();
    for (unsigned i = 0; i < 512; i++)
        data[i] = next_random();
    ((void (*)(struct state *))code)(&state);
    state.registers[15] = 0;
    return hash(hash(0xcbf29ce484222325u, &state, sizeof state), data, 512);
}

#define CODE_BYTES 8192

static uint8_t *map(int protection, int flags)
{
    uint8_t *memory =
        mmap(NULL, CODE_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return memory;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    random_state = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * 2654435761u + 88172645463325252u;
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    uint8_t *places[] = {map(all, 0), map(PROT_READ | PROT_WRITE, 0),
                         map(PROT_READ | PROT_WRITE, MAP_32BIT)};
    uint64_t sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        uint8_t *code = places[i % 3];
        bool flips = i % 3 != 0;
        if (flips)
            mprotect(code, CODE_BYTES / 2, PROT_READ | PROT_WRITE);
        data = code + CODE_BYTES / 2; /* stays writable, on a page of its own */
        put_block(code);
        if (flips)
            mprotect(code, CODE_BYTES / 2, PROT_READ | PROT_EXEC);
        for (unsigned again = 0; again < 3; again++) {
            uint64_t result = run_block(code);
            sum = sum * 31 + result;
            if (argc > 3)
                printf("%lu %016lx\n", i, result);
        }
    }
    printf("%016lx\n", sum);
    return 0;
}
