/*
 * import_folded.c: folded stacks: `frame;frame;...;leaf COUNT`, root first, one line a path.
 *
 * The count is what follows the last space. There is no escaping in the format, so a frame is
 * whatever stands between two semicolons. Empty lines and lines that begin with # are passed over.
 */
#include "formats/formats.h"
#include "profile/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The count at the end of a line, cut off there; false when there is none. */
static bool take_count(char *line, uint64_t *count)
{
    char *end = line + strlen(line);

    while (end > line && (end[-1] == ' ' || end[-1] == '\r' || end[-1] == '\t'))
        *--end = 0;
    char *digits = end;
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == end || digits == line || (digits[-1] != ' ' && digits[-1] != '\t'))
        return false;
    errno = 0;
    *count = strtoull(digits, NULL, 10);
    while (digits > line && (digits[-1] == ' ' || digits[-1] == '\t'))
        digits--;
    *digits = 0;
    return errno == 0;
}

static int read_line(struct profile_maker *maker, char *line, size_t number, const char *name,
                     struct error *error)
{
    uint64_t count;
    uint32_t context = 0;

    if (!take_count(line, &count))
        return error_set(error, "%s: line %zu: does not end in a count", name, number);
    for (char *frame; (frame = strsep(&line, ";"));)
        context = maker_context(maker, context, maker_function(maker, frame, ""));
    if (maker_add(maker, context, count, 0))
        return error_set(error, "%s: line %zu: the counts exceed 64 bits", name, number);
    return OK;
}

static int folded_read(const struct file_bytes *input, const char *name, struct profile **profile,
                       struct error *error)
{
    struct profile_maker maker;
    char *at = (char *)input->bytes;
    size_t number = 0;

    *profile = NULL;
    if (memchr(input->bytes, 0, input->size_bytes))
        return error_set(error, "%s: not folded stacks: has a zero byte", name);
    maker_start(&maker, "import:folded");
    for (char *line; (line = strsep(&at, "\n"));) {
        number++;
        if (*line == 0 || *line == '#' || *line == '\r')
            continue;
        if (read_line(&maker, line, number, name, error)) {
            maker_discard(&maker);
            return ERROR;
        }
    }
    if (maker.profile->context_count == 1) {
        maker_discard(&maker);
        return error_set(error, "%s: has no folded stacks", name);
    }
    *profile = maker_finish(&maker);
    return OK;
}

const struct import_format import_folded = {
    .name = "folded",
    .summary = "folded stacks, one line a call path",
    .read = folded_read,
};
