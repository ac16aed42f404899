/*
 * fuzz_raw.c: a raw file that may be anything, as a full disk or a killed process may leave one: it is
 * read, or refused. Engines are trusted to write sums that agree, so no more is asked of the profile.
 */
#include "profile/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/fuzz-raw-XXXXXX", path[sizeof folder + sizeof "/1.0.raw"];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/1.0.raw", folder);
    atexit(remove_folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct raw_run run;
    struct error error;

    if (!*path)
        make_folder();
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file))
        abort();
    if (raw_read_run(folder, &run, &error))
        return 0;
    profile_free(run.profile);
    raw_run_free(&run);
    return 0;
}
