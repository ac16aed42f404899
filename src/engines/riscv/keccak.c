#include "engines/riscv/keccak.h"

/* Round constants come from a shift register: bit 2^j - 1 of round r is output 7 r + j of the
 * polynomial x^8 + x^6 + x^5 + x^4 + 1. */
static uint64_t next_round_constant(uint8_t *shift_register)
{
    uint64_t constant = 0;

    for (unsigned j = 0; j < 7; j++) {
        if (*shift_register & 1)
            constant |= 1ull << ((1u << j) - 1);
        *shift_register = (uint8_t)(*shift_register << 1 ^ (*shift_register & 0x80 ? 0x71 : 0));
    }
    return constant;
}

static uint64_t rotate(uint64_t word, unsigned amount)
{
    return amount ? word << amount | word >> (64 - amount) : word;
}

/* Theta: every bit takes in the parities of two columns. */
static void mix_columns(uint64_t state[25])
{
    uint64_t parity[5];

    for (unsigned x = 0; x < 5; x++)
        parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
    for (unsigned x = 0; x < 5; x++) {
        uint64_t mixed = parity[(x + 4) % 5] ^ rotate(parity[(x + 1) % 5], 1);
        for (unsigned y = 0; y < 25; y += 5)
            state[x + y] ^= mixed;
    }
}

/* Rho and pi: words are rotated by triangular numbers as they move along a cycle of 24. */
static void rotate_and_move(uint64_t state[25])
{
    unsigned x = 1, y = 0;
    uint64_t carried = state[1];

    for (unsigned t = 0; t < 24; t++) {
        unsigned next_y = (2 * x + 3 * y) % 5;
        x = y;
        y = next_y;
        uint64_t replaced = state[x + 5 * y];
        state[x + 5 * y] = rotate(carried, (t + 1) * (t + 2) / 2 % 64);
        carried = replaced;
    }
}

/* Chi: the only step that is not linear. */
static void combine_rows(uint64_t state[25])
{
    for (unsigned y = 0; y < 25; y += 5) {
        uint64_t first = state[y], second = state[y + 1];
        for (unsigned x = 0; x < 3; x++)
            state[y + x] ^= ~state[y + x + 1] & state[y + x + 2];
        state[y + 3] ^= ~state[y + 4] & first;
        state[y + 4] ^= ~first & second;
    }
}

void keccak_permute(uint64_t state[25])
{
    uint8_t shift_register = 1;

    for (unsigned round = 0; round < 24; round++) {
        mix_columns(state);
        rotate_and_move(state);
        combine_rows(state);
        state[0] ^= next_round_constant(&shift_register);
    }
}
