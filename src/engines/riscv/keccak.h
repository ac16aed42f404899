/*
 * keccak.h: the permutation Keccak-f[1600] on 25 words of state.
 */
#ifndef TRUEFLAME_RISCV_KECCAK_H
#define TRUEFLAME_RISCV_KECCAK_H

#include <stdint.h>

void keccak_permute(uint64_t state[25]);

#endif
