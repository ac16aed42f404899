/*
 * lambda.c: the environment of zkVM guests.
 *
 * A flat address space of 2^64 bytes without permissions: what was never written reads as zero.
 * The guest starts with every register 0 but the stack pointer, finds its private input mapped at
 * a fixed address, and asks for the rest with `ecall`, number in a7:
 *
 *      1  print             a0 text, a1 length                       to standard output
 *      2  panic             a0 text, a1 length                       the run has failed
 *     64  commit            a0 must be 1, a1 bytes, a2 length        adds to the public output
 *     93  halt              a0 exit status                           so does a jump to address 0
 *     -2  keccak_permute    a0 state of 200 bytes, 8-aligned
 *    -11  secp256k1_multiply   a0 result x, a1 point x, a2 scalar; 32 bytes each, little-endian
 *
 * Anything else ends the run with one clear line, and the profile so far is kept.
 */
#include "engines/riscv/machine.h"

#include "common/memory.h"
#include "engines/riscv/image.h"
#include "engines/riscv/keccak.h"
#include <errno.h>
#include <fcntl.h>
#include <secp256k1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_TOP        0xfffffffffffffff0ull
#define INPUT_ADDRESS    0xff000000ull
#define MAX_INPUT_BYTES  (512ull << 20)
#define MAX_OUTPUT_BYTES (1ull << 20)
#define MAX_TEXT_BYTES   (16ull << 20)
#define PANIC_STATUS     101
#define FAILURE_STATUS   1

struct lambda_state {
    uint8_t *output;
    size_t output_size_bytes, output_capacity;
    secp256k1_context *curve; /* made when first asked for */
};

static struct lambda_state *state_of(struct riscv_machine *machine)
{
    return machine->environment_state;
}

/* ---- calls ---- */

/* Copies `size_bytes` at `address` out of the guest; NULL, with the run failed, if that is more
 * than anyone could mean. Caller frees. */
static uint8_t *copy_out(struct riscv_machine *machine, uint64_t address, uint64_t size_bytes,
                         const char *what)
{
    if (size_bytes > MAX_TEXT_BYTES) {
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS, "%s of %llu bytes", what,
                     (unsigned long long)size_bytes);
        return NULL;
    }
    uint8_t *copy = memory_allocate(size_bytes + 1);
    memory_read(&machine->memory, address, copy, size_bytes);
    copy[size_bytes] = '\0';
    return copy;
}

static void print(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint8_t *text = copy_out(machine, arguments[0], arguments[1], "print");

    if (!text)
        return;
    for (uint64_t done = 0; done < arguments[1];) {
        ssize_t written = write(STDOUT_FILENO, text + done, arguments[1] - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            break; /* nobody reads it any more; the guest cannot care */
        done += (uint64_t)written;
    }
    free(text);
}

static void panic(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint8_t *text = copy_out(machine, arguments[0], arguments[1], "panic");

    if (!text)
        return;
    for (uint64_t i = 0; i < arguments[1]; i++)
        if (text[i] < ' ')
            text[i] = ' ';
    machine_stop(machine, RISCV_FAILED, PANIC_STATUS, "the guest panicked: %s", (char *)text);
    free(text);
}

static void commit(struct riscv_machine *machine, const uint64_t *arguments)
{
    struct lambda_state *state = state_of(machine);
    uint64_t size_bytes = arguments[2];

    if (arguments[0] != STDOUT_FILENO) {
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS,
                     "commit to descriptor %llu; there is only 1",
                     (unsigned long long)arguments[0]);
        return;
    }
    if (size_bytes > MAX_OUTPUT_BYTES - state->output_size_bytes) {
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS, "more than %llu bytes of public output",
                     MAX_OUTPUT_BYTES);
        return;
    }
    if (!size_bytes)
        return; /* of nothing there may be no memory yet */
    state->output = memory_grow(state->output, &state->output_capacity,
                                state->output_size_bytes + size_bytes, 1);
    memory_read(&machine->memory, arguments[1], state->output + state->output_size_bytes,
                size_bytes);
    state->output_size_bytes += size_bytes;
}

static void halt(struct riscv_machine *machine, const uint64_t *arguments)
{
    machine_stop(machine, RISCV_EXITED, (int)(arguments[0] & 0xff), "%s", "");
}

static void permute(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint64_t words[25];

    if (arguments[0] % 8) {
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS,
                     "keccak_permute of a state at 0x%llx, which is not 8-aligned",
                     (unsigned long long)arguments[0]);
        return;
    }
    memory_read(&machine->memory, arguments[0], words, sizeof words);
    keccak_permute(words);
    memory_write(&machine->memory, arguments[0], words, sizeof words);
}

static void copy_reversed(uint8_t *to, const uint8_t *from, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        to[i] = from[size_bytes - 1 - i];
}

/* Only x coordinates go in and out: k P and k (-P) have the same one, so either y will do. */
static bool multiply_x(struct lambda_state *state, const uint8_t *point_x, const uint8_t *scalar,
                       uint8_t *result_x)
{
    uint8_t encoded[33] = {2}, big_endian_scalar[32];
    size_t length = sizeof encoded;
    secp256k1_pubkey point;

    if (!state->curve)
        state->curve = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
    copy_reversed(encoded + 1, point_x, 32);
    copy_reversed(big_endian_scalar, scalar, 32);
    if (!secp256k1_ec_pubkey_parse(state->curve, &point, encoded, sizeof encoded) ||
        !secp256k1_ec_pubkey_tweak_mul(state->curve, &point, big_endian_scalar))
        return false;
    secp256k1_ec_pubkey_serialize(state->curve, encoded, &length, &point, SECP256K1_EC_COMPRESSED);
    copy_reversed(result_x, encoded + 1, 32);
    return true;
}

static void multiply(struct riscv_machine *machine, const uint64_t *arguments)
{
    uint8_t point_x[32], scalar[32], result_x[32];

    memory_read(&machine->memory, arguments[1], point_x, sizeof point_x);
    memory_read(&machine->memory, arguments[2], scalar, sizeof scalar);
    if (!multiply_x(state_of(machine), point_x, scalar, result_x)) {
        machine_stop(
            machine, RISCV_FAILED, FAILURE_STATUS,
            "secp256k1_multiply of what is no point, or by what is no scalar, of the curve");
        return;
    }
    memory_write(&machine->memory, arguments[0], result_x, sizeof result_x);
}

static const struct lambda_call {
    uint64_t number;
    const char *name;
    void (*answer)(struct riscv_machine *machine, const uint64_t *arguments);
} calls[] = {
    {1, "print", print},
    {2, "panic", panic},
    {64, "commit", commit},
    {93, "halt", halt},
    {(uint64_t)-2, "keccak_permute", permute},
    {(uint64_t)-11, "secp256k1_multiply", multiply},
};

static const struct lambda_call *find_call(uint64_t number)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

static const char *call_name(const struct riscv_machine *machine)
{
    const struct lambda_call *call = find_call(machine->x[REGISTER_A7]);

    return call ? call->name : NULL;
}

static void answer_call(struct riscv_machine *machine)
{
    const struct lambda_call *call = find_call(machine->x[REGISTER_A7]);

    if (call)
        call->answer(machine, &machine->x[REGISTER_A0]);
    else
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS,
                     "unknown environment call %lld at pc 0x%llx",
                     (long long)machine->x[REGISTER_A7], (unsigned long long)machine->call_address);
}

static void handle_trap(struct riscv_machine *machine, enum dispatch_stop stop)
{
    unsigned long long pc = machine->pc;

    if (stop == DISPATCH_FETCH && !pc)
        machine_stop(machine, RISCV_EXITED, 0, "%s", "");
    else if (stop == DISPATCH_ILLEGAL)
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS, "illegal instruction at pc 0x%llx", pc);
    else if (stop == DISPATCH_FETCH)
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS, "jump to 0x%llx, where no code is", pc);
    else
        machine_stop(machine, RISCV_FAILED, FAILURE_STATUS,
                     "bad access to address 0x%llx at pc 0x%llx",
                     (unsigned long long)machine->fault_address, pc);
}

/* ---- start and end ---- */

/* A length of 32 bits, then the bytes. */
static int map_input(struct riscv_machine *machine, struct error *error)
{
    const char *path = machine->options.input_path;
    struct stat status;

    if (!path)
        return OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return error_set_errno(error, "cannot open %s", path);
    int result = OK;
    if (fstat(file, &status) || !S_ISREG(status.st_mode))
        result = error_set(error, "%s is not a file", path);
    else if ((uint64_t)status.st_size > MAX_INPUT_BYTES)
        result = error_set(error, "%s has more than %llu bytes: too large for a private input",
                           path, MAX_INPUT_BYTES);
    uint32_t length = result == OK ? (uint32_t)status.st_size : 0;
    if (result == OK)
        result = memory_ensure(&machine->memory, INPUT_ADDRESS, length + 4ull, error);
    for (uint32_t done = 0; result == OK && done < length;) {
        ssize_t got =
            read(file, memory_host(&machine->memory, INPUT_ADDRESS + 4 + done), length - done);
        if (got <= 0)
            result = error_set(error, "cannot read %s", path);
        else
            done += (uint32_t)got;
    }
    if (result == OK)
        memcpy(memory_host(&machine->memory, INPUT_ADDRESS), &length, sizeof length);
    close(file);
    return result;
}

/* That the output can be written is found out before the guest runs, not after. */
static int check_output(const struct riscv_machine *machine, struct error *error)
{
    const char *path = machine->options.output_path;
    int file = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

    if (path && file < 0)
        return error_set_errno(error, "cannot write %s", path);
    if (path)
        close(file);
    return OK;
}

static int start(struct riscv_machine *machine, struct error *error)
{
    const struct riscv_image *image = machine->image;

    machine->environment_state = memory_allocate_zeroed(1, sizeof(struct lambda_state));
    if (image->header->e_type != ET_EXEC)
        return error_set(error,
                         "%s is position-independent; lambda guests are linked to an address",
                         image->path);
    machine->memory.sparse = true;
    machine->blocks.lambda = true;
    machine->blocks.only_whole_words = !image->compressed;
    machine->x[REGISTER_SP] = STACK_TOP;
    if (check_output(machine, error) || image_load(image, &machine->memory, true, error))
        return ERROR;
    return map_input(machine, error);
}

static int write_output(struct riscv_machine *machine, struct error *error)
{
    const struct lambda_state *state = state_of(machine);
    const char *path = machine->options.output_path;

    if (!path)
        return OK;
    FILE *file = fopen(path, "wb");
    if (!file)
        return error_set_errno(error, "cannot write %s", path);
    bool written =
        fwrite(state->output, 1, state->output_size_bytes, file) == state->output_size_bytes;
    if (fclose(file) || !written)
        return error_set_errno(error, "cannot write %s", path);
    return OK;
}

static void finish(struct riscv_machine *machine)
{
    struct lambda_state *state = state_of(machine);

    if (!state)
        return;
    if (state->curve)
        secp256k1_context_destroy(state->curve);
    free(state->output);
    free(state);
}

const struct environment lambda_environment = {
    .name = "lambda",
    .start = start,
    .call = answer_call,
    .trap = handle_trap,
    .call_name = call_name,
    .write_output = write_output,
    .finish = finish,
};
