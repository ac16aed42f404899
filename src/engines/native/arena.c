/* arena.c: see arena.h. */
#include "engines/native/arena.h"
#include "engines/native/layout.h"
#include "engines/native/limits.h"
#include "engines/native/sys.h"
#include "engines/native/text.h"
#include "engines/native/thread.h"
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE        4096ul
#define FIRST_CHUNK (1ul << 20)
#define LARGE       (512ul << 10)
#define CLASS_BYTES 64ul
#define LARGE_PAGE  (2ul << 20)

struct free_piece {
    struct free_piece *next;
};

struct lock arena_lock;

static struct {
    uint64_t next; /* where the next mapping goes */
    uint64_t low;  /* and in the range for contexts; 0: that is not there yet */
    uint64_t low_end;
    bool program_runs;
    uint8_t *chunk; /* the rest of the last chunk */
    size_t chunk_left;
    unsigned chunk_count;
    struct free_piece *free[LARGE / CLASS_BYTES + 1]; /* by size in CLASS_BYTES */
} arena = {.next = ARENA_START};

static long lock_process;

/* There is, or was, a second thread. Before that a lock is a note, for a child of vfork that ends with
 * it: what is stored for it waits for nothing that was stored before. */
static bool shared;

void locks_share(void)
{
    shared = true;
}

bool locks_are_shared(void)
{
    return shared;
}

void lock_is_of(long process)
{
    lock_process = process;
}

/* A child of vfork is another process with the same memory, and outlives one that ends in the
 * meantime, with a lock held: nobody will give that back. */
bool lock_holder_is_gone(void)
{
    return sys(getpid) != lock_process && sys(kill, lock_process, 0) == -ESRCH;
}

/* The upper bit of a word that is not 0: somebody waits. */
#define WAITED (1u << 31)

/* Another for every thread: no two records are as near each other, nor as far away. */
static uint32_t mark_of(const struct native_thread *thread)
{
    return ((uint64_t)thread >> 6 | 1) & ~WAITED;
}

/* Sets the upper bit; false: it is not held any more. */
static bool note_waiter(struct lock *lock, uint32_t word)
{
    return word &&
           (word & WAITED || __atomic_compare_exchange_n(&lock->word, &word, word | WAITED, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void lock_take(struct lock *lock)
{
    const int64_t a_while[2] = {0, 50000000}; /* struct timespec */
    uint32_t word = 0;
    if (!shared && !lock->word) {
        lock->word = 1;
        return;
    }
    uint32_t mark = mark_of(thread_self());
    while (!__atomic_compare_exchange_n(&lock->word, &word, mark, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        mark |= WAITED; /* others may wait too */
        if (note_waiter(lock, word)) {
            long result = sys(futex, &lock->word, FUTEX_WAIT_PRIVATE, word | WAITED, a_while, 0, 0);
            if (result == -ETIMEDOUT && lock_holder_is_gone())
                return;
        }
        word = 0;
    }
}

void lock_give(struct lock *lock)
{
    if (!shared && lock->word == 1)
        lock->word = 0;
    else if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) & WAITED)
        sys(futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

bool lock_was_left_by(const struct lock *lock, const struct native_thread *child)
{
    uint32_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
    return shared ? (word & ~WAITED) == mark_of(child) : word;
}

void arena_program_runs(void)
{
    arena.program_runs = true;
}

/* NULL if the kernel has no memory for it. */
static void *map_next(size_t size_bytes, int protection, int flags, long file)
{
    for (;;) {
        uint64_t at = arena.next;
        if (at + size_bytes > ARENA_END)
            return NULL;
        arena.next += size_bytes;
        long got = sys(mmap, at, size_bytes, protection,
                       flags | MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
        if ((uint64_t)got == at)
            return (void *)at;
        if (got != -EEXIST)
            return NULL;
    }
}

static void *map_anonymous(size_t size_bytes)
{
    return map_next(size_bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
}

/* The program's own limits are not meant for the engine: they are lifted for a moment, as far as one
 * may. */
static void *map_beyond_limits(size_t size_bytes)
{
    static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    struct rlimit64 limits[2];
    for (unsigned i = 0; i < 2; i++) {
        sys(prlimit64, 0, kinds[i], NULL, &limits[i]);
        struct rlimit64 lifted = {limits[i].rlim_max, limits[i].rlim_max};
        sys(prlimit64, 0, kinds[i], &lifted, NULL);
    }
    void *memory = map_anonymous(size_bytes);
    for (unsigned i = 0; i < 2; i++)
        sys(prlimit64, 0, kinds[i], &limits[i], NULL);
    return memory;
}

static void *map_memory(size_t size_bytes)
{
    void *memory = map_anonymous(size_bytes);
    if (!memory)
        memory = map_beyond_limits(size_bytes);
    if (!memory && arena.program_runs)
        fail("out of memory, of which the engine needs some beside the program", NULL);
    if (!memory)
        limits_refuse();
    return memory;
}

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) & ~(to - 1);
}

static void *map_filled(size_t size_bytes, size_t small_bytes)
{
    arena.next = round_up(arena.next, LARGE_PAGE);
    uint8_t *memory = map_memory(round_up(size_bytes, PAGE));
    if (size_bytes > small_bytes)
        sys(madvise, memory + small_bytes, round_up(size_bytes, PAGE) - small_bytes, MADV_HUGEPAGE);
    return memory;
}

/* A program that needs a second chunk is not a small one. */
static void map_chunk(void)
{
    arena.chunk_left = arena.chunk_count++ ? LARGE_PAGE : FIRST_CHUNK;
    arena.chunk =
        arena.chunk_left == LARGE_PAGE ? map_filled(LARGE_PAGE, 0) : map_memory(FIRST_CHUNK);
}

static void *allocate_small(size_t size_bytes)
{
    struct free_piece **list = &arena.free[size_bytes / CLASS_BYTES];
    if (*list) {
        struct free_piece *piece = *list;
        *list = piece->next;
        memset(piece, 0, size_bytes);
        return piece;
    }
    if (arena.chunk_left < size_bytes)
        map_chunk();
    void *memory = arena.chunk;
    arena.chunk += size_bytes;
    arena.chunk_left -= size_bytes;
    return memory;
}

void *arena_allocate(size_t size_bytes)
{
    lock_take(&arena_lock);
    void *memory = size_bytes <= LARGE ? allocate_small(round_up(size_bytes, CLASS_BYTES))
                                       : map_memory(round_up(size_bytes, PAGE));
    lock_give(&arena_lock);
    return memory;
}

void *arena_allocate_filled(size_t size_bytes, bool begins_small)
{
    if (size_bytes < LARGE_PAGE)
        return arena_allocate(size_bytes);
    lock_take(&arena_lock);
    void *memory = map_filled(size_bytes, begins_small ? LARGE_PAGE : 0);
    lock_give(&arena_lock);
    return memory;
}

static void map_low(void)
{
    const uint64_t size_bytes = limits_share(CONTEXTS_END - CONTEXTS_START);
    long got = sys(mmap, CONTEXTS_START, size_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != CONTEXTS_START)
        limits_refuse();
    arena.low = CONTEXTS_START;
    arena.low_end = CONTEXTS_START + size_bytes;
}

void *arena_allocate_low(size_t size_bytes)
{
    void *memory = NULL;
    lock_take(&arena_lock);
    if (!arena.low)
        map_low();
    if (size_bytes >= LARGE_PAGE)
        arena.low = round_up(arena.low, LARGE_PAGE);
    if (arena.low + size_bytes <= arena.low_end) {
        memory = (void *)arena.low;
        arena.low += round_up(size_bytes, PAGE);
        /* Small programs use little of the first two. */
        if (arena.low > CONTEXTS_START + 2 * LARGE_PAGE)
            sys(madvise, memory, size_bytes, MADV_HUGEPAGE);
    }
    lock_give(&arena_lock);
    return memory ? memory : arena_allocate_filled(size_bytes, false);
}

void arena_release(void *memory, size_t size_bytes)
{
    if (!memory || !size_bytes)
        return;
    if (size_bytes > LARGE) {
        sys(munmap, memory, round_up(size_bytes, PAGE));
        return;
    }
    lock_take(&arena_lock);
    struct free_piece *piece = memory;
    struct free_piece **list = &arena.free[round_up(size_bytes, CLASS_BYTES) / CLASS_BYTES];
    piece->next = *list;
    *list = piece;
    lock_give(&arena_lock);
}

void *arena_map_file(long file, size_t size_bytes)
{
    lock_take(&arena_lock);
    void *memory = map_next(round_up(size_bytes, PAGE), PROT_READ, 0, file);
    lock_give(&arena_lock);
    return memory;
}

static struct {
    uint64_t start, end;
} kept_stack;

void engine_keep_stack(uint64_t start, uint64_t end)
{
    kept_stack.start = start;
    kept_stack.end = end;
}

bool engine_owns(uint64_t start, uint64_t end)
{
    bool in_cache = start < LOW_END && end > CONTEXTS_START;
    bool in_stack = start < kept_stack.end && end > kept_stack.start;
    return in_cache || in_stack || (start < ARENA_END && end > ENGINE_START);
}
