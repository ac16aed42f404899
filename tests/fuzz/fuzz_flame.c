/*
 * fuzz_flame.c: the .flame reader. A fuzzer cannot guess checksums, so they are made right before
 * the reader sees the bytes; everything else is as the fuzzer made it.
 */
#include "exercise.h"
#include "profile/flame.h"

#include <xxhash.h>

static void make_checksums_right(uint8_t *bytes, size_t size)
{
    size_t at = FLAME_MAGIC_BYTES + 8;

    while (size >= at + FLAME_SECTION_BYTES) {
        uint64_t stored, checksum;
        memcpy(&stored, bytes + at + 8, sizeof stored);
        if (stored > size - at - FLAME_SECTION_BYTES)
            return;
        XXH64_state_t *state = XXH64_createState();
        XXH64_reset(state, 0);
        XXH64_update(state, bytes + at, FLAME_SECTION_CHECKED);
        XXH64_update(state, bytes + at + FLAME_SECTION_BYTES, stored);
        checksum = XXH64_digest(state);
        XXH64_freeState(state);
        memcpy(bytes + at + FLAME_SECTION_CHECKED, &checksum, sizeof checksum);
        at += FLAME_SECTION_BYTES + stored;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = memory_allocate(size);
    struct profile *profile;
    struct error error;

    memcpy(bytes, data, size);
    make_checksums_right(bytes, size);
    if (flame_parse(bytes, size, "fuzz", &profile, &error) == OK)
        exercise(profile);
    else if (profile)
        abort();
    free(bytes);
    return 0;
}
