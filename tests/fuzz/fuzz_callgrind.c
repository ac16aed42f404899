/* fuzz_callgrind.c: import -f callgrind, and everything that can be done with what it made. */
#include "exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return exercise_import(&import_callgrind, data, size);
}
