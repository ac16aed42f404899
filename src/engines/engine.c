#include "engines/engine.h"
#include "common/memory.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void engine_fail(const char *run_folder, const char *format, ...)
{
    char *path = memory_format("%s/error", run_folder);
    FILE *file = fopen(path, "w");
    va_list arguments;

    va_start(arguments, format);
    if (file) {
        vfprintf(file, format, arguments);
        fclose(file);
    }
    va_end(arguments);
    _exit(ENGINE_FAILED);
}

char *engine_find(const char *folder, const char *file)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length > 0) {
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        char *beside = memory_format("%s/src/engines/%s/%s", self, folder, file);
        if (!access(beside, X_OK))
            return beside;
        free(beside);
        char *installed = memory_format("%s/../libexec/trueflame/%s", self, file);
        if (!access(installed, X_OK))
            return installed;
        free(installed);
    }
    return memory_format(ENGINE_FOLDER "/%s", file);
}

const char *engine_refuses_rights(const struct record_options *options)
{
    struct stat status;

    if (!stat(options->program, &status) && status.st_mode & (S_ISUID | S_ISGID) && getuid())
        return "the program is set-uid, and would lose its rights";
    return NULL;
}

void engine_add(struct engine_arguments *arguments, char *text)
{
    *array_push(arguments->items, arguments->count, arguments->capacity) = text;
}
