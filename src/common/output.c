#include "common/output.h"

#include "common/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESS_FILE_BYTES 40

/* A name by which a descriptor's file can be linked. */
static void process_file(char name[PROCESS_FILE_BYTES], int descriptor)
{
    snprintf(name, PROCESS_FILE_BYTES, "/proc/self/fd/%d", descriptor);
}

static bool open_unnamed(struct output *output)
{
    char *folder = memory_duplicate_string(output->final_path), *slash = strrchr(folder, '/');
    char name[PROCESS_FILE_BYTES];

    if (slash)
        slash[slash == folder] = 0; /* of the root, the slash stays */
    int descriptor = open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    free(folder);
    if (descriptor < 0)
        return false;
    process_file(name, descriptor);
    if (access(name, F_OK)) {
        close(descriptor);
        return false;
    }
    output->stream = fdopen(descriptor, "wb");
    return true;
}

/* A temporary file with a name, beside the final one; -1 where there can be none. */
static int make_temporary(struct output *output)
{
    output->temporary_path = memory_format("%s.XXXXXX", output->final_path);
    int descriptor = mkstemp(output->temporary_path);

    if (descriptor < 0) {
        free(output->temporary_path);
        output->temporary_path = NULL;
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0666 & ~mask); /* mkstemp makes files private; this one is an ordinary one */
    return descriptor;
}

/* Where a file without a name can be made, but gets none: some file systems that lie on others. */
static int copy_to_temporary(struct output *output)
{
    int from = fileno(output->stream), to = make_temporary(output);
    ssize_t copied = -1;

    if (to < 0)
        return ERROR;
    for (off_t at = 0; (copied = sendfile(to, from, &at, 1 << 30)) > 0;)
        continue;
    int failed = copied < 0 || fsync(to) != 0;
    failed |= close(to) != 0;
    return failed ? ERROR : OK;
}

/* Gives a file without a name a temporary one. */
static int give_name(struct output *output)
{
    enum { MOST_TRIES = 1000 }; /* names that other runs left behind are in the way of this one's */
    char name[PROCESS_FILE_BYTES];

    process_file(name, fileno(output->stream));
    for (int i = 0; i < MOST_TRIES; i++) {
        char *path = memory_format("%s.%ld-%d", output->final_path, (long)getpid(), i);
        if (linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
            output->temporary_path = path;
            return OK;
        }
        free(path);
        if (errno != EEXIST)
            break;
    }
    return copy_to_temporary(output);
}

static int open_temporary(struct output *output, struct error *error)
{
    if (open_unnamed(output))
        return OK;
    int descriptor = make_temporary(output);
    if (descriptor < 0)
        return error_set_errno(error, "%s: cannot be created", output->path);
    output->stream = fdopen(descriptor, "wb");
    return OK;
}

static void forget(struct output *output)
{
    free(output->path);
    free(output->temporary_path);
    free(output->final_path);
    *output = (struct output){0};
}

int output_open(struct output *output, const char *path, struct error *error)
{
    struct stat status;

    /* A file that may not grow (ulimit -f) is an error, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
    *output = (struct output){0};
    if (!path || !strcmp(path, "-")) {
        output->stream = stdout;
        output->path = memory_duplicate_string("standard output");
        return OK;
    }

    output->path = memory_duplicate_string(path);
    int result = OK;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        output->stream = fopen(path, "wb");
        if (!output->stream)
            result = error_set_errno(error, "%s: cannot be written", path);
    } else {
        char *resolved = realpath(path, NULL);
        output->final_path = resolved ? resolved : memory_duplicate_string(path);
        result = open_temporary(output, error);
    }
    if (result != OK)
        forget(output);
    return result;
}

int output_commit(struct output *output, struct error *error)
{
    FILE *stream = output->stream;
    int failed = fflush(stream) != 0 || ferror(stream);

    if (output->final_path && !failed)
        failed = fsync(fileno(stream)) != 0;
    if (output->final_path && !output->temporary_path && !failed)
        failed = give_name(output) != OK;
    int number = errno;
    if (stream != stdout && fclose(stream) != 0 && !failed) {
        failed = 1;
        number = errno;
    }
    if (output->final_path && !failed && rename(output->temporary_path, output->final_path)) {
        failed = 1;
        number = errno;
    }
    int result = OK;
    if (failed) {
        errno = number;
        result = error_set_errno(error, "%s: cannot be written", output->path);
        if (output->temporary_path)
            unlink(output->temporary_path);
    }
    forget(output);
    return result;
}

void output_discard(struct output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary_path)
        unlink(output->temporary_path);
    forget(output);
}
