/*
 * output.c: raw files, one for each program that each process was, in the run's folder.
 *
 * A file is written under another name and renamed, so `record` never sees half of one. The same
 * name is written again by the next checkpoint and at the end. What could not be written whole
 * keeps the other name, which tells `record` of a full disk.
 */
#include "counters.h"
#include "engine.h"

#include "core/platform.h"
#include "core/run_folder.h"

#include "pub_tool_clientstate.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

static struct raw_process process = {.engine = "valgrind"};

struct file_sink {
    struct raw_sink sink;
    Int file;
    Bool failed;
};

static void write_to_file(struct raw_sink *sink, const void *bytes, uint64_t size_bytes)
{
    struct file_sink *file = (struct file_sink *)sink;
    const UChar *at = bytes;

    while (size_bytes && !file->failed) {
        Int written = VG_(write)(file->file, at, size_bytes < 1 << 24 ? size_bytes : 1 << 24);
        if (written <= 0) {
            file->failed = True;
            return;
        }
        at += written;
        size_bytes -= written;
    }
}

static void raw_path(HChar *path, SizeT size, const HChar *suffix)
{
    VG_(snprintf)
    (path, size, "%s/%llu.%llu.raw%s", options.run_folder, (ULong)process.pid, (ULong)process.image,
     suffix);
}

static const HChar *join_command(void)
{
    SizeT size = VG_(strlen)(VG_(args_the_exename)) + 1;

    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); i++)
        size += VG_(strlen)(*(HChar **)VG_(indexXA)(VG_(args_for_client), i)) + 1;
    HChar *command = platform_allocate(size), *end = command;
    VG_(strcpy)(end, VG_(args_the_exename));
    for (Word i = 0; i < VG_(sizeXA)(VG_(args_for_client)); i++) {
        end += VG_(strlen)(end);
        *end++ = ' ';
        VG_(strcpy)(end, *(HChar **)VG_(indexXA)(VG_(args_for_client), i));
    }
    return command;
}

/* A pid that left a file here was another program before it called exec, or another process. */
static void choose_image(void)
{
    HChar path[4096];
    struct vg_stat status;

    process.image = 0;
    for (raw_path(path, sizeof path, ""); !sr_isError(VG_(stat)(path, &status));
         raw_path(path, sizeof path, ""))
        process.image++;
}

void output_begin(void)
{
    process.pid = VG_(getpid)();
    process.parent_pid = VG_(getppid)();
    process.command = join_command();
    choose_image();
    process.started_by = process.image ? RAW_EXEC : RAW_FIRST;
}

void output_forked(ULong ordinal)
{
    process.parent_pid = process.pid;
    process.parent_image = process.image;
    process.pid = VG_(getpid)();
    process.fork_ordinal = ordinal;
    process.started_by = RAW_FORK;
    choose_image();
}

void output_write(ULong ending, ULong exit_status)
{
    HChar path[4096], final[4096];
    struct file_sink sink = {.sink.write = write_to_file};

    raw_path(path, sizeof path, ".new");
    raw_path(final, sizeof final, "");
    SysRes opened =
        VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT | VKI_O_TRUNC, VKI_S_IRUSR | VKI_S_IWUSR);
    if (sr_isError(opened))
        return;
    sink.file = sr_Res(opened);
    process.ending = ending;
    process.exit_status = exit_status;
    counters_flush();
    raw_write(&core, &process, &sink.sink);
    VG_(close)(sink.file);
    if (!sink.failed)
        VG_(rename)(path, final);
}

void output_before_user(UInt user)
{
    struct vg_stat status;

    if (sr_isError(VG_(stat)(options.run_folder, &status)))
        return;
    switch (run_folder_before_user(user, call_kernel(__NR_geteuid, 0, 0, 0), status.uid)) {
    case RUN_FOLDER_IS_GIVEN:
        call_kernel(__NR_chown, (UWord)options.run_folder, user, -1);
        break;
    case RUN_FOLDER_IS_OPENED:
        call_kernel(__NR_chmod, (UWord)options.run_folder, RUN_FOLDER_OPEN_MODE, 0);
        break;
    default:
        break;
    }
}

Bool output_is_first_program(void)
{
    return options.python_retry == process.pid && process.started_by == RAW_FIRST;
}

void output_forget(void)
{
    HChar path[4096];

    raw_path(path, sizeof path, "");
    VG_(unlink)(path);
}

void output_progress(void)
{
    HChar path[4096];
    ULong status[2] = {hot->instructions, core.tree.count};

    VG_(snprintf)(path, sizeof path, "%s/status.%llu", options.run_folder, (ULong)process.pid);
    SysRes opened = VG_(open)(path, VKI_O_WRONLY | VKI_O_CREAT, VKI_S_IRUSR | VKI_S_IWUSR);
    if (sr_isError(opened))
        return;
    VG_(write)(sr_Res(opened), status, sizeof status);
    VG_(close)(sr_Res(opened));
}
