/*
 * What a program can see of where it runs: addresses, the auxiliary vector, the processor, the
 * signals. With --repeatable all of it is the same under both engines and on every machine.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char **environ;
static int data;

static void show_addresses(char **arguments)
{
    void *small = malloc(10), *large = malloc(1 << 20);
    void *first = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *second = mmap(NULL, 1 << 22, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *hinted = mmap((void *)0x300000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("code %p data %p stack %p heap %p %p %p\n", (void *)show_addresses, (void *)&data,
           __builtin_frame_address(0), sbrk(0), small, large);
    printf("mapped %p %p %p\n", first, second, hinted);
    munmap(first, 4096);
    printf("again %p\n", mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    printf("grown %p\n", mremap(second, 1 << 22, 1 << 24, MREMAP_MAYMOVE));
    printf("huge %p\n",
           mmap(NULL, 3ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    printf("library %p arguments %p %p environment %p\n", (void *)strlen, (void *)arguments,
           (void *)arguments[0], (void *)environ[0]);
}

static void show_auxiliary(void)
{
    char **end = environ;
    while (*end)
        end++;
    for (Elf64_auxv_t *row = (Elf64_auxv_t *)(end + 1); row->a_type != AT_NULL; row++)
        printf("auxiliary %lu %#lx\n", row->a_type, row->a_un.a_val);
}

static void show_processor(void)
{
    static const unsigned leaves[] = {
        0,          1,          2,          4,          5,          6,          7,
        0xb,        0xd,        0xf,        0x14,       0x19,       0x1f,       0x80000000,
        0x80000001, 0x80000002, 0x80000003, 0x80000005, 0x80000006, 0x80000008, 0x8000001d};
    unsigned eax, ebx, ecx, edx;
    for (unsigned i = 0; i < sizeof leaves / sizeof *leaves; i++)
        for (unsigned part = 0; part < 5; part++) {
            __cpuid_count(leaves[i], part, eax, ebx, ecx, edx);
            printf("cpuid %x %u: %x %x %x %x\n", leaves[i], part, eax, ebx, ecx, edx);
        }
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    printf("xgetbv %x %x\n", eax, edx);
}

/* libc asks for all there is, and has room for what cpuid says. */
static void save_state(void)
{
    static _Alignas(64) uint8_t room[8192];
    memset(room, 0xa5, sizeof room);
    unsigned low = ~0u, high = ~0u, used = sizeof room;
    memset(room + 512, 0, 64);
    __asm__ volatile("xsave (%2)" : "+a"(low), "+d"(high) : "r"(room) : "memory");
    while (room[used - 1] == 0xa5)
        used--;
    printf("xsave %s, state %#lx, eax %x\n", used <= 832 ? "fits" : "writes too much",
           *(uint64_t *)(room + 512) & ~7ul, low);
    __asm__ volatile("xrstor (%2)" : "+a"(low), "+d"(high) : "r"(room) : "memory");
}

static void show_signals(void)
{
    struct sigaction action;
    stack_t stack;
    for (int number = 1; number <= SIGRTMAX; number++)
        if (!sigaction(number, NULL, &action) && (action.sa_handler || action.sa_flags))
            printf("signal %d is %p\n", number, (void *)action.sa_handler);
    sigaltstack(NULL, &stack);
    printf("signal stack %p %x\n", stack.ss_sp, stack.ss_flags);
}

int main(int count, char **arguments)
{
    (void)count;
    show_addresses(arguments);
    show_auxiliary();
    show_processor();
    save_state();
    show_signals();
    return 0;
}
