/*
 * fuzz_riscv_elf.c: any bytes as a guest's file: either one clear line, or a guest that runs a little.
 *
 *     clang -fsanitize=fuzzer,address ...      libFuzzer calls LLVMFuzzerTestOneInput
 *     gcc -DSTANDALONE ... ; riscv-elf FILE [COUNT [SEED]]   changes FILE at random COUNT times
 *
 * What is loaded runs for some thousand instructions, now and then with the profile on, so that the
 * symbol reader and the stack rules see the hostile file, too. It runs as a lambda guest, which
 * cannot do anything to this machine; as a Linux guest it is only loaded.
 */
#include "engines/riscv/riscv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define INSTRUCTIONS 5000

static struct riscv_machine *load_guest(const char *path, enum riscv_abi abi)
{
    struct riscv_options options = {.path = path, .abi = abi};
    struct error error = {""};
    struct riscv_machine *machine = riscv_create(&options, &error);

    if (!machine && (!error.text[0] || strchr(error.text, '\n')))
        abort();
    return machine;
}

static void run_guest(const char *path)
{
    static unsigned runs;
    struct riscv_machine *machine = load_guest(path, RISCV_ABI_LINUX);

    if (machine)
        riscv_destroy(machine);
    machine = load_guest(path, RISCV_ABI_LAMBDA);
    if (!machine)
        return;
    /* A profile's memory stays until the process ends. */
    if (++runs % 1024 == 1)
        riscv_profile_begin(machine, &(struct riscv_profile_options){.line_detail = true});
    riscv_run(machine, INSTRUCTIONS);
    if (riscv_state(machine)->instructions > INSTRUCTIONS)
        abort();
    riscv_destroy(machine);
}

/* What a profile keeps until the end of the process is not a leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    char path[64];
    int file = memfd_create("guest", MFD_CLOEXEC);

    if (file < 0 || write(file, bytes, size_bytes) != (ssize_t)size_bytes)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    run_guest(path);
    close(file);
    return 0;
}

#ifdef STANDALONE
static uint64_t random_state = 1;

static uint64_t random_number(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* Headers are where loaders break: half of the changes go there. */
static void change(uint8_t *bytes, size_t size_bytes)
{
    static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};

    for (uint64_t left = 1 + random_number(4); left; left--) {
        size_t range = random_number(2) && size_bytes > 400 ? 400 : size_bytes;
        size_t at = random_number(range);
        uint64_t width = 1 + random_number(8);
        for (uint64_t i = 0; i < width && at + i < size_bytes; i++)
            bytes[at + i] =
                random_number(2) ? edges[random_number(5)] : (uint8_t)random_number(256);
    }
}

int main(int count, char **arguments)
{
    static uint8_t bytes[1 << 22], changed[1 << 22];
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : NULL;

    if (!file) {
        fprintf(stderr, "usage: riscv-elf FILE [COUNT [SEED]]\n");
        return 2;
    }
    size_t size_bytes = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    long times = count > 2 ? atol(arguments[2]) : 1000;
    random_state = count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
    /* What a mutated guest prints is nobody's business. */
    if (!freopen("/dev/null", "w", stdout))
        return 2;
    for (long i = 0; i < times; i++) {
        size_t used = random_number(8) ? size_bytes : random_number(size_bytes);
        memcpy(changed, bytes, size_bytes);
        if (used)
            change(changed, used);
        LLVMFuzzerTestOneInput(changed, used);
    }
    return 0;
}
#endif
