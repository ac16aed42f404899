/* processor.c: see processor.h. */
#include "core/processor.h"

struct leaf {
    uint32_t number, part; /* part: ecx on entry; ANY_PART: whatever */
    struct processor_answer answer;
};

#define ANY_PART UINT32_MAX

/* sse3 pclmul ssse3 fma cx16 sse4.1 sse4.2 movbe popcnt aes xsave osxsave avx f16c */
#define FEATURES_1_ECX 0x3ed83203u
#define NEEDED_1_ECX   0x36d83203u /* not osxsave: the kernel's to say, by xgetbv */
/* bmi1 avx2 bmi2 erms */
#define FEATURES_7_EBX 0x00000328u
/* lahf lzcnt prefetchw; syscall nx long mode */
#define FEATURES_X_ECX 0x00000121u
#define FEATURES_X_EDX 0x28100800u

static const struct leaf leaves[] = {
    {0, ANY_PART, {0xd, 0x756e6547, 0x6c65746e, 0x49656e69}}, /* GenuineIntel */
    {1, ANY_PART, {0x000306c3, 0x00100800, FEATURES_1_ECX, PROCESSOR_HWCAP}},
    {2, ANY_PART, {0x00feff01, 0xf0, 0, 0}},   /* caches: see leaf 4 */
    {4, 0, {0x1c004121, 0x01c0003f, 63, 0}},   /* 32 KB of data */
    {4, 1, {0x1c004122, 0x01c0003f, 63, 0}},   /* 32 KB of code */
    {4, 2, {0x1c004143, 0x01c0003f, 511, 0}},  /* 256 KB */
    {4, 3, {0x1c03c163, 0x03c0003f, 8191, 6}}, /* 8 MB, shared */
    {7, 0, {0, FEATURES_7_EBX, 0, 0}},
    {0xd, 0, {PROCESSOR_STATE, 832, 832, 0}},
    {0xd, 2, {256, 576, 0, 0}},
    {0x80000000, ANY_PART, {0x80000008, 0, 0, 0}},
    {0x80000001, ANY_PART, {0, 0, FEATURES_X_ECX, FEATURES_X_EDX}},
    {0x80000002, ANY_PART, {0x65757274, 0x6d616c66, 0x72702065, 0x7365636f}}, /* trueflame proces */
    {0x80000003, ANY_PART, {0x00726f73, 0, 0, 0}},                            /* sor */
    {0x80000006, ANY_PART, {0, 0, 0x01006040, 0}},
    {0x80000008, ANY_PART, {0x3027, 0, 0, 0}},
};

struct processor_answer processor_ask(uint32_t leaf, uint32_t part)
{
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (leaves[i].number == leaf && (leaves[i].part == ANY_PART || leaves[i].part == part))
            return leaves[i].answer;
    return (struct processor_answer){0};
}

int processor_has_less(struct processor_answer first, struct processor_answer seventh,
                       struct processor_answer extended)
{
    return (first.ecx & NEEDED_1_ECX) != NEEDED_1_ECX ||
           (seventh.ebx & FEATURES_7_EBX) != FEATURES_7_EBX ||
           (extended.ecx & FEATURES_X_ECX) != FEATURES_X_ECX;
}
