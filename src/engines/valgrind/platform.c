/*
 * platform.c: the core's platform on top of Valgrind's own libc.
 */
#include "engine.h"

#include "core/platform.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"

/* Small pieces come from Valgrind's heap, large ones are mappings of their own: zeroed by the
 * kernel when touched, and given back when released. */
#define LARGE 65536

void *platform_allocate(size_t size_bytes)
{
    if (size_bytes < LARGE)
        return VG_(calloc)("trueflame", 1, size_bytes ? size_bytes : 1);
    void *memory = VG_(am_shadow_alloc)(size_bytes);
    if (!memory)
        platform_fail("out of memory");
    return memory;
}

void platform_release(void *memory, size_t size_bytes)
{
    if (!memory)
        return;
    if (size_bytes < LARGE)
        VG_(free)(memory);
    else
        VG_(am_munmap_valgrind)((Addr)memory, VG_PGROUNDUP(size_bytes));
}

bool platform_map_file(const char *path, const uint8_t **bytes, size_t *size_bytes)
{
    struct vg_stat status;
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);

    if (sr_isError(opened))
        return false;
    Int file = sr_Res(opened);
    bool read = false;
    if (!VG_(fstat)(file, &status) && VKI_S_ISREG(status.mode) && status.size > 0 &&
        status.size < (Long)1 << 40) {
        /* Read, not mapped: a file that shrinks in between must not end the program. */
        uint8_t *copy = platform_allocate(status.size);
        Long done = 0;
        while (done < status.size) {
            Long want = status.size - done < 1 << 24 ? status.size - done : 1 << 24;
            Int got = VG_(read)(file, copy + done, want);
            if (got <= 0)
                break;
            done += got;
        }
        read = done == status.size;
        if (read) {
            *bytes = copy;
            *size_bytes = status.size;
        } else {
            platform_release(copy, status.size);
        }
    }
    VG_(close)(file);
    return read;
}

void platform_unmap_file(const uint8_t *bytes, size_t size_bytes)
{
    platform_release((void *)bytes, size_bytes);
}

/* Of Linux on x86-64, though Valgrind's headers do not have them. */
#define NOFOLLOW    0400000
#define ELOOP_ERROR 40

enum platform_look platform_look_at(const char *path, uint64_t offset, void *buffer,
                                    size_t *size_bytes, struct platform_file *file)
{
    SysRes opened = VG_(open)(path, VKI_O_RDONLY | NOFOLLOW | VKI_O_NONBLOCK, 0);
    struct vg_stat status;

    if (sr_isError(opened))
        return sr_Err(opened) == VKI_ENOENT    ? PLATFORM_ABSENT
               : sr_Err(opened) == ELOOP_ERROR ? PLATFORM_LINK
                                               : PLATFORM_REFUSED;
    Int descriptor = sr_Res(opened);
    if (VG_(fstat)(descriptor, &status) || !VKI_S_ISREG(status.mode)) {
        VG_(close)(descriptor);
        return PLATFORM_OTHER;
    }
    *file = (struct platform_file){
        .device = status.dev, .inode = status.ino, .size_bytes = status.size, .owner = status.uid};
    Int got = 0;
    if (*size_bytes && VG_(lseek)(descriptor, offset, VKI_SEEK_SET) == (Off64T)offset)
        got = VG_(read)(descriptor, buffer, *size_bytes);
    *size_bytes = got > 0 ? got : 0;
    VG_(close)(descriptor);
    return PLATFORM_FILE;
}

bool platform_read_link(const char *path, char *target, size_t room_bytes)
{
    SSizeT length = VG_(readlink)(path, target, room_bytes - 1);

    if (length <= 0)
        return false;
    target[length] = '\0';
    return true;
}

uint64_t platform_clock(void)
{
    struct vki_timespec now;

    VG_(clock_gettime)(&now, 1 /* CLOCK_MONOTONIC */);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t platform_process(void)
{
    return VG_(getpid)();
}

uint32_t platform_user(void)
{
    return VG_(geteuid)();
}

bool platform_find_mapping(uint64_t address, uint64_t *start, uint64_t *end)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);

    if (!segment ||
        (segment->kind != SkAnonC && segment->kind != SkFileC && segment->kind != SkShmC))
        return false;
    *start = segment->start;
    *end = segment->end + 1;
    return true;
}

/* Pages that were readable, until the program changes its mappings: Python frames are read a hundred
 * thousand times a second, and what asks Valgrind takes longer than what is read. */
#define READABLE_PAGES 256

static Addr readable[READABLE_PAGES];

static Bool is_readable(Addr page)
{
    Addr *known = &readable[page / VKI_PAGE_SIZE % READABLE_PAGES];

    if (*known == page)
        return True;
    if (!VG_(am_is_valid_for_client)(page, VKI_PAGE_SIZE, VKI_PROT_READ))
        return False;
    *known = page;
    return True;
}

void platform_forget_readable(void)
{
    for (UInt i = 0; i < READABLE_PAGES; i++)
        readable[i] = 0;
}

bool platform_read(uint64_t address, void *buffer, size_t size_bytes)
{
    Addr last = address + size_bytes - 1;

    if (!size_bytes || last < address)
        return !size_bytes;
    for (Addr page = VG_PGROUNDDN(address); page <= last; page += VKI_PAGE_SIZE)
        if (!page || !is_readable(page))
            return false;
    if (size_bytes == sizeof(UWord))
        *(UWord *)buffer = *(const UWord *)address;
    else
        VG_(memcpy)(buffer, (const void *)address, size_bytes);
    return true;
}

void platform_fail(const char *sentence)
{
    VG_(fmsg)("%s\n", sentence);
    VG_(exit)(2);
}

UWord call_kernel(UWord number, UWord a, UWord b, UWord c)
{
    register UWord none __asm__("r10") = 0;
    UWord result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(none)
                     : "rcx", "r11", "memory");
    return result;
}
