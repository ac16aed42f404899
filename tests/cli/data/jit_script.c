/*
 * jit_script.c: a program that makes code and says what it is called, as its arguments tell it.
 *
 *   emit AT spin N          code at offset AT of the arena: N times round a loop, and return
 *   emit AT call TO N       the same, then a call of the code at TO
 *   emit AT jump TO N       the same, then a jump to TO
 *   run AT N                calls the code N times
 *   map AT SIZE NAME        a line of the perf map, at once
 *   text WORDS              bytes of the perf map as they are; \n is a newline
 *   late                    from now on the lines wait in a buffer that is written at the end
 *   link FILE, own UID, pipe, unlink     makes the map something else
 *   dump PATH, load AT SIZE NAME, move AT TO SIZE, line AT OFFSET LINE FILE      a jitdump
 *   unwind, close           further records of it
 *   huge N                  a line of N megabytes in the map
 *   anew                    the arena is unmapped and mapped again, empty
 *   fork                    what follows happens in a child; the parent waits for it
 *
 * The map is removed at the end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARENA_BYTES 65536

static uint8_t *const arena = (uint8_t *)0x7e0000000000;
static int map_file = -1, dump_file = -1, is_late;
static char late[1 << 20], late_dump[1 << 20];
static size_t late_used, late_dump_used;
static char map_path[64];

static uint8_t *put_jump(uint8_t *at, uint8_t opcode, const uint8_t *to)
{
    int32_t distance = (int32_t)(to - (at + 5));

    *at = opcode;
    memcpy(at + 1, &distance, 4);
    return at + 5;
}

static void emit(uint8_t *at, const char *kind, const uint8_t *to, uint32_t turns)
{
    *at++ = 0xb9; /* mov ecx, turns */
    memcpy(at, &turns, 4);
    at += 4;
    memcpy(at, "\xff\xc9\x75\xfc", 4); /* dec ecx; jnz */
    at += 4;
    if (!strcmp(kind, "call")) {
        memcpy(at, "\x48\x83\xec\x08", 4); /* sub rsp, 8 */
        at = put_jump(at + 4, 0xe8, to);
        memcpy(at, "\x48\x83\xc4\x08", 4);
        at += 4;
    }
    if (!strcmp(kind, "jump"))
        at = put_jump(at, 0xe9, to);
    *at = 0xc3;
}

__attribute__((noinline)) static void run_code(const uint8_t *at, long times)
{
    for (long i = 0; i < times; i++)
        ((void (*)(void))at)();
}

static void write_map(const char *text, size_t length)
{
    if (is_late) {
        memcpy(late + late_used, text, length);
        late_used += length;
        return;
    }
    if (map_file < 0)
        map_file = open(map_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (map_file < 0 || write(map_file, text, length) < 0)
        perror(map_path);
}

static void write_dump(const void *bytes, size_t length)
{
    if (is_late) {
        memcpy(late_dump + late_dump_used, bytes, length);
        late_dump_used += length;
    } else if (write(dump_file, bytes, length) < 0) {
        perror("dump");
    }
}

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ul + time.tv_nsec;
}

static void put_record(uint32_t kind, const void *fields, size_t field_bytes, const char *text,
                       const void *more, size_t more_bytes)
{
    uint8_t record[70000];
    size_t text_bytes = text ? strlen(text) + 1 : 0;
    uint32_t total = 16 + field_bytes + text_bytes + more_bytes;
    uint64_t time = now();

    memcpy(record, &kind, 4);
    memcpy(record + 4, &total, 4);
    memcpy(record + 8, &time, 8);
    memcpy(record + 16, fields, field_bytes);
    memcpy(record + 16 + field_bytes, text, text_bytes);
    memcpy(record + 16 + field_bytes + text_bytes, more, more_bytes);
    write_dump(record, total);
}

static void begin_dump(const char *folder)
{
    char path[4096];
    uint32_t words[6] = {0x4A695444, 1, 40, 62, 0, (uint32_t)getpid()};
    uint64_t rest[2] = {now(), 0};

    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, getpid());
    dump_file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump_file, 0);
    write_dump(words, sizeof words);
    write_dump(rest, sizeof rest);
}

static void put_load(uint64_t at, uint64_t size, const char *name)
{
    static uint64_t index;
    uint64_t fields[5] = {(uint64_t)getpid() << 32 | (uint32_t)getpid(), at, at, size, index++};

    put_record(0, fields, sizeof fields, name, (void *)at, size);
}

static void put_line(uint64_t at, uint64_t offset, uint32_t line, const char *file)
{
    struct {
        uint64_t code, count, address;
        uint32_t line, discriminator;
    } fields = {at, 1, at + offset, line, 0};

    put_record(2, &fields, sizeof fields, file, NULL, 0);
}

static void put_move(uint64_t from, uint64_t to, uint64_t size)
{
    uint64_t fields[6] = {(uint64_t)getpid() << 32 | (uint32_t)getpid(), to, from, to, size, 0};

    memcpy((void *)to, (void *)from, size);
    put_record(1, fields, sizeof fields, NULL, NULL, 0);
}

static void make_arena(void)
{
    munmap(arena, ARENA_BYTES);
    if (mmap(arena, ARENA_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != arena)
        exit(3);
}

static void name_map(void)
{
    snprintf(map_path, sizeof map_path, "/tmp/perf-%d.map", getpid());
    map_file = -1;
}

static void write_text(const char *text)
{
    for (; *text; text++) {
        int newline = text[0] == '\\' && text[1] == 'n';
        write_map(newline ? "\n" : text, 1);
        text += newline;
    }
}

static void finish(void)
{
    is_late = 0;
    if (late_used)
        write_map(late, late_used);
    if (late_dump_used)
        write_dump(late_dump, late_dump_used);
}

/* Numbers of processes are used again, and what is found then would be in the way. */
static void remove_map(void)
{
    unlink(map_path);
}

int main(int argc, char **argv)
{
    char **word = argv + 1, line[8192];

    setvbuf(stdout, NULL, _IONBF, 0);
    name_map();
    make_arena();
    atexit(remove_map);
#define NUMBER() strtoull(*word++, NULL, 0)
#define PLACE()  (arena + NUMBER())
    while (word < argv + argc) {
        const char *command = *word++;
        if (!strcmp(command, "emit")) {
            uint8_t *at = PLACE();
            const char *kind = *word++;
            const uint8_t *to = strcmp(kind, "spin") ? PLACE() : NULL;
            emit(at, kind, to, NUMBER());
        } else if (!strcmp(command, "run")) {
            const uint8_t *at = PLACE();
            run_code(at, NUMBER());
        } else if (!strcmp(command, "map")) {
            uint64_t at = (uint64_t)PLACE(), size = NUMBER();
            snprintf(line, sizeof line, "%lx %lx %s\n", at, size, *word++);
            write_map(line, strlen(line));
        } else if (!strcmp(command, "text")) {
            write_text(*word++);
        } else if (!strcmp(command, "huge")) {
            uint64_t count = NUMBER();
            memset(late, 'x', sizeof late);
            write_map("7e0000000100 40 ", 16);
            for (uint64_t i = 0; i < count; i++)
                write_map(late, sizeof late);
            write_map("\n", 1);
        } else if (!strcmp(command, "late")) {
            is_late = 1;
        } else if (!strcmp(command, "link")) {
            if (symlink(*word++, map_path))
                perror("link");
        } else if (!strcmp(command, "own")) {
            if (chown(map_path, NUMBER(), -1))
                perror("own");
        } else if (!strcmp(command, "pipe")) {
            mkfifo(map_path, 0600);
        } else if (!strcmp(command, "unlink")) {
            unlink(map_path);
        } else if (!strcmp(command, "dump")) {
            begin_dump(*word++);
        } else if (!strcmp(command, "load")) {
            uint64_t at = (uint64_t)PLACE(), size = NUMBER();
            put_load(at, size, *word++);
        } else if (!strcmp(command, "move")) {
            uint64_t from = (uint64_t)PLACE(), to = (uint64_t)PLACE();
            put_move(from, to, NUMBER());
        } else if (!strcmp(command, "line")) {
            uint64_t at = (uint64_t)PLACE(), offset = NUMBER();
            uint32_t number = NUMBER();
            put_line(at, offset, number, *word++);
        } else if (!strcmp(command, "unwind")) {
            put_record(4, (uint64_t[3]){8, 4, 8}, 24, NULL, "unwinding", 8);
        } else if (!strcmp(command, "close")) {
            put_record(3, "", 0, NULL, NULL, 0);
        } else if (!strcmp(command, "anew")) {
            make_arena();
        } else if (!strcmp(command, "fork")) {
            pid_t child = fork();
            if (child) {
                waitpid(child, NULL, 0);
                return 0;
            }
            name_map();
        } else {
            fprintf(stderr, "what is %s?\n", command);
            return 2;
        }
    }
    finish();
    return 0;
}
