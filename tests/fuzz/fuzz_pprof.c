/* fuzz_pprof.c: import -f pprof, and everything that can be done with what it made. */
#include "exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return exercise_import(&import_pprof, data, size);
}
