#include "engines/engine.h"
#include "common/memory.h"

#include <stdarg.h>
#include <stdio.h>
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
