#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return ERROR;
}

int error_set_errno(struct error *error, const char *format, ...)
{
    int number = errno;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, ": %s", strerror(number));
    return ERROR;
}
