/*
 * random_blocks.c: random blocks of any instructions that the processor has, run from random
 * registers, flags, memory and vector state. Prints hashes of what they leave; alone and under an
 * engine these must agree.
 *
 *   random_blocks COUNT SEED [TIMER [FIRST]]   TIMER: microseconds between two signals, 0 for none;
 *                                              from block FIRST on each block's hash is printed
 *
 * Candidates (random_instructions.h) are run alone, and most that fault are dropped. Blocks are made
 * of those that are left and of branches, calls and string instructions made by hand. A fault ends a
 * block: its handler sends it to where it would have ended, so registers at the fault are compared
 * as well.
 *
 * Blocks lie in memory that is writable and executable, in memory that is flipped between the two,
 * and below 2 GB. All addresses that a block can see are the same in every run.
 */
#define _GNU_SOURCE
#include "block_state.h"
#include "random_instructions.h"
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

static uint64_t hash(uint64_t sum, const void *memory, size_t bytes)
{
    for (const uint64_t *word = memory; bytes >= 8; bytes -= 8, word++) {
        sum = (sum ^ *word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    return sum;
}

/* ---- memory ---- */

#define SLOT_BYTES  2048
#define SLOTS       16
#define CODE_BYTES  (SLOTS * SLOT_BYTES)
#define DATA_BYTES  1024 /* that operands are in */
#define STACK_BYTES 65536

static struct place {
    uint8_t *code, *data;
    bool flips;
} places[3];
static struct place *place;
static uint64_t stack_top;

static uint8_t *map_at(uint64_t address, size_t bytes, int protection)
{
    uint8_t *memory = mmap((void *)address, bytes, protection,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != (uint8_t *)address) {
        perror("mmap");
        exit(2);
    }
    return memory;
}

static void protect(const struct place *of, int protection)
{
    if (of->flips)
        mprotect(of->code, CODE_BYTES, protection);
}

static void make_places(void)
{
    static const uint64_t addresses[] = {0x300000000000, 0x310000000000, 0x30000000};
    for (unsigned i = 0; i < 3; i++) {
        int more = i == 0 ? PROT_EXEC : 0;
        places[i].code = map_at(addresses[i], CODE_BYTES + 4096, PROT_READ | PROT_WRITE | more);
        places[i].data = places[i].code + CODE_BYTES + 1024;
        places[i].flips = i != 0;
    }
    map_at(STATE, 8192, PROT_READ | PROT_WRITE);
    stack_top = (uint64_t)map_at(0x28000000, STACK_BYTES, PROT_READ | PROT_WRITE) + STACK_BYTES / 2;
    state->wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    state->leave = (uint64_t)leave_block;
}

/* ---- signals ---- */

static void on_fault(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t at = registers[REG_RIP] - (uint64_t)place->code;
    (void)info;
    if (at > CODE_BYTES)
        _Exit(90 + number);
    state->fault = (uint64_t)number << 32 | at;
    registers[REG_RIP] = (greg_t)leave_block;
}

static volatile unsigned ticks;

static void on_tick(int number)
{
    (void)number;
    ticks++;
}

static void take_signals(unsigned microseconds)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    static uint8_t memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    sigaltstack(&stack, NULL);
    sigaddset(&action.sa_mask, SIGALRM);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigaction(faults[i], &action, NULL);
    action.sa_handler = on_tick;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- blocks ---- */

static uint8_t *out;

static void put(const char *bytes, unsigned length)
{
    memcpy(out, bytes, length);
    out += length;
}

static void put32(uint32_t word)
{
    memcpy(out, &word, 4);
    out += 4;
}

static void put_load(unsigned reg, uint64_t value)
{
    *out++ = 0x48 | reg >> 3;
    *out++ = 0xb8 | (reg & 7);
    memcpy(out, &value, 8);
    out += 8;
}

static void put_state_operand(const char *opcode, unsigned length, unsigned offset)
{
    put(opcode, length);
    put32(STATE + offset);
}

static uint64_t data_address(bool is_aligned)
{
    unsigned offset = next_random() % (DATA_BYTES / 2);
    return (uint64_t)place->data + (is_aligned || !chance(4) ? offset & ~63u : offset);
}

static void put_piece(const struct piece *piece)
{
    uint64_t to = data_address(piece->is_aligned);
    if (piece->base >= 0)
        put_load(piece->base, to);
    put((const char *)piece->bytes, piece->length);
    if (piece->relative) {
        uint32_t distance = to - (uint64_t)out;
        memcpy(out - piece->length + piece->relative, &distance, 4);
    }
}

static void put_any(void)
{
    put_piece(&pieces[next_random() % PIECES]);
}

static void put_some(unsigned most)
{
    for (unsigned count = next_random() % most + 1; count; count--)
        put_any();
}

static void end_jump8(uint8_t *from)
{
    from[-1] = out - from;
}

static void put_condition(void)
{
    if (chance(2)) {
        *out++ = 0x70 | next_random() % 16;
        *out++ = 0;
        uint8_t *from = out;
        put_some(3);
        end_jump8(from);
    } else {
        *out++ = 0x0f;
        *out++ = 0x80 | next_random() % 16;
        put32(0);
        uint8_t *from = out;
        put_some(4);
        uint32_t distance = out - from;
        memcpy(from - 4, &distance, 4);
    }
}

static void put_jump_if_zero(void)
{
    if (chance(2))
        put("\x67", 1);
    put("\xe3\x00", 2); /* jrcxz */
    uint8_t *from = out;
    put_some(2);
    end_jump8(from);
}

/* Backwards, by a counter that nothing else changes. */
static void put_loop(void)
{
    put_state_operand("\xc7\x04\x25", 3, offsetof(struct state, counter));
    put32(next_random() % 6 + 1);
    uint8_t *start = out;
    put_some(3);
    put_state_operand("\xff\x0c\x25", 3, offsetof(struct state, counter));
    put("\x0f\x85", 2);
    put32(start - (out + 4));
}

static void put_counted_loop(void)
{
    *out++ = 0xb9;
    put32(next_random() % 6 + 1);
    uint8_t *start = out;
    put("\x48\x8d\x44\x88\x11", 5); /* lea rax, [rax + rcx * 4 + 17] */
    *out++ = 0xe0 | next_random() % 3;
    *out = start - (out + 1);
    out++;
}

/* A call of what follows, past a jump over it; by one of four ways. */
static void put_call(void)
{
    unsigned way = next_random() % 4, target = next_random() % 8, drops = chance(4) ? 8 : 0;
    uint8_t *jump, *address = NULL, *distance = NULL;
    if (drops)
        put("\x6a\x05", 2); /* an argument, which the callee drops */
    if (way == 0) {
        put("\xe8", 1);
        distance = out;
        put32(0);
    } else if (way == 1) {
        address = out + 2;
        put_load(11, 0);
        put("\x41\xff\xd3", 3); /* call r11 */
    } else {
        address = out + 2;
        put_load(way == 2 ? 0 : 9, 0);
        *out++ = way == 2 ? 0x48 : 0x4c;
        put_state_operand(way == 2 ? "\x89\x04\x25" : "\x89\x0c\x25", 3,
                          offsetof(struct state, targets) + 8 * target);
        put_state_operand("\xff\x14\x25", 3, offsetof(struct state, targets) + 8 * target);
    }
    put("\xe9", 1);
    jump = out;
    put32(0);
    if (distance) {
        uint32_t to = out - (distance + 4);
        memcpy(distance, &to, 4);
    }
    if (address)
        memcpy(address, &(uint64_t){(uint64_t)out}, 8);
    put_some(3);
    put(drops ? "\xc2\x08\x00" : chance(4) ? "\xf3\xc3" : "\xc3\x90", drops ? 3 : 2);
    uint32_t over = out - (jump + 4);
    memcpy(jump, &over, 4);
}

/* To the next instruction but a few bytes, which are none. */
static void put_indirect_jump(void)
{
    unsigned way = next_random() % 3;
    uint8_t *address = out + 2;
    put_load(way == 1 ? 9 : 1, 0);
    if (way == 0)
        put("\xff\xe1", 2); /* jmp rcx */
    else if (way == 1)
        put("\x41\x51\xc3", 3); /* push r9; ret */
    else
        put("\x51\xff\x24\x24", 4); /* push rcx; jmp [rsp] */
    put("\x06\x06", 2);
    memcpy(address, &(uint64_t){(uint64_t)out}, 8);
    if (way == 2)
        put("\x59", 1);
}

static void put_stack(void)
{
    switch (next_random() % 5) {
    case 0:
        put("\x9c\x58", 2); /* pushfq; pop rax */
        break;
    case 1:
        put("\x50\x41\x5a", 3); /* push rax; pop r10 */
        break;
    case 2:
        put("\xe8\x00\x00\x00\x00\x5a", 6); /* call next; pop rdx */
        break;
    case 3:
        put("\x68", 1);
        put32(next_random());
        put("\x8f\xc3", 2); /* push n; pop rbx */
        break;
    case 4:
        put("\x48\x89\x4c\x24\xc0\x48\x8b\x7c\x24\xc0", 10); /* the red zone */
        break;
    }
}

static void put_string(void)
{
    static const uint8_t operations[] = {0xa4, 0xa5, 0xa6, 0xa7, 0xaa,
                                         0xab, 0xac, 0xad, 0xae, 0xaf};
    bool down = chance(4);
    put_load(6, (uint64_t)place->data + 256);
    put_load(7, (uint64_t)place->data + 256 + next_random() % 256);
    *out++ = 0xb9;
    put32(next_random() % 20);
    if (down)
        put("\xfd", 1);
    *out++ = chance(2) ? 0xf3 : 0xf2;
    if (chance(2))
        *out++ = 0x48;
    *out++ = operations[next_random() % sizeof operations];
    if (down)
        put("\xfc", 1);
}

static void put_block(uint8_t *at)
{
    static void (*const others[])(void) = {
        put_condition, put_condition, put_jump_if_zero,  put_loop,  put_counted_loop,
        put_call,      put_call,      put_indirect_jump, put_stack, put_string};
    out = at;
    for (unsigned count = 4 + next_random() % 16; count && out < at + SLOT_BYTES - 400; count--)
        if (chance(4))
            others[next_random() % (sizeof others / sizeof *others)]();
        else
            put_any();
    put_state_operand("\xff\x24\x25", 3, offsetof(struct state, leave));
}

static uint64_t run_block(uint8_t *code)
{
    fill(state->registers, sizeof state->registers);
    for (unsigned i = 0; i < 16; i++)
        if (chance(4))
            state->registers[i] &= 15;
    state->registers[4] = stack_top;
    state->flags = 0x202 | (next_random() & 0x8d5);
    fill(state->masks, sizeof state->masks);
    fill(state->vectors, sizeof state->vectors);
    fill(place->data, DATA_BYTES);
    state->control = 0x1f80;
    state->fault = 0;
    state->code = (uint64_t)code;
    enter_block();
    memset(state->x87 + 6, 0, 18); /* where the last instruction and its operand were */
    if (state->fault) /* an engine may have done without flags that the instruction overwrites */
        state->flags &= ~0x8d5ul;
    uint64_t sum = hash(state->fault, state->registers, sizeof state->registers + 8);
    if (!state->wide)
        for (unsigned i = 0; i < 16; i++)
            sum = hash(sum, state->vectors[i], 32);
    else
        sum = hash(sum, state->masks, sizeof state->masks + sizeof state->vectors);
    return hash(hash(sum, state->x87, sizeof state->x87), place->data, DATA_BYTES);
}

/* Candidates run alone; of those that fault, few are kept. */
static uint64_t make_pieces(void)
{
    uint64_t sum = 0;
    place = &places[0];
    for (unsigned i = 0; i < PIECES;) {
        if (!make_piece(&pieces[i]))
            continue;
        out = place->code + (i % SLOTS) * SLOT_BYTES;
        uint8_t *code = out;
        put_piece(&pieces[i]);
        put_state_operand("\xff\x24\x25", 3, offsetof(struct state, leave));
        sum = sum * 31 + run_block(code);
        if (!state->fault || chance(64))
            i++;
    }
    return sum;
}

static uint64_t run_group(unsigned long first, unsigned long from)
{
    uint64_t sum = 0;
    place = &places[first / SLOTS % 3];
    protect(place, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < SLOTS; i++)
        put_block(place->code + i * SLOT_BYTES);
    protect(place, PROT_READ | PROT_EXEC);
    for (unsigned i = 0; i < SLOTS; i++)
        for (unsigned again = 0; again < 2; again++) {
            uint64_t result = run_block(place->code + i * SLOT_BYTES);
            sum = sum * 31 + result;
            if (first + i >= from)
                printf("%lu %016lx fault %lx\n", first + i, result, state->fault);
        }
    return sum;
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    unsigned long from = argc > 4 ? strtoul(argv[4], NULL, 10) : -1ul;
    random_state = (argc > 2 ? strtoul(argv[2], NULL, 10) : 1) * 2654435761u + 88172645463325252u;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    make_places();
    take_signals(argc > 3 ? atoi(argv[3]) : 0);
    uint64_t sum = make_pieces();
    printf("pieces %016lx\n", sum);
    for (unsigned long i = 0; i < count; i += SLOTS) {
        sum = sum * 31 + run_group(i, from);
        if (i / SLOTS % 64 == 63)
            printf("%lu %016lx\n", i + SLOTS, sum);
    }
    printf("%016lx\n", sum);
    return 0;
}
