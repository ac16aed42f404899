/*
 * import_perf.c: the text of `perf script`.
 *
 *     python3  4711/4712 [001] 12345.678901:     250000 cycles:u:
 *             55d0c0ffee10 work+0x10 (/usr/bin/app)
 *             55d0c0ffee90 main+0x90 (/usr/bin/app)
 *     (an empty line)
 *
 * The leaf comes first; what a sample counts is its period, 1 where there is none. Inlined
 * functions come before the one they were inlined in, "(inlined)" in the place of its object. Lines
 * of other fields (source lines, for example) have no address and are passed over. When there are
 * samples of several events, those of the first one count.
 *
 * Samples without call chains are one line each, indented, with the frame behind the event:
 *
 *          python3  4711 12345.678901:     250000 cycles:u:      55d0c0ffee10 work+0x10 (/usr/bin/app)
 *
 * so what tells a sample's first line from a frame is the time in it; other fields may be missing
 * (perf script -F). Events that are no samples (perf script --show-mmap-events) are PERF_RECORD_something.
 */
#include "common/memory.h"
#include "formats/formats.h"
#include "profile/make.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct perf {
    struct profile_maker maker;
    char *event;      /* the one that counts; NULL until the first sample */
    uint32_t *frames; /* of the sample being read, leaf first */
    size_t frame_count, frame_capacity;
    const char **inlined; /* names that wait for the object of the function they are in */
    size_t inlined_count, inlined_capacity;
    uint32_t root;
    uint64_t period;
    bool in_sample, counted;
};

/* "12345.678901:" and then the end or a blank */
static bool is_time(const char *word)
{
    size_t digits = strspn(word, "0123456789");

    if (digits == 0 || word[digits] != '.')
        return false;
    const char *fraction = word + digits + 1;
    size_t length = strspn(fraction, "0123456789");
    return length && fraction[length] == ':' &&
           (fraction[length + 1] == 0 || isspace((unsigned char)fraction[length + 1]));
}

/* Most lines are frames, in which no word begins with a digit but the first. */
static bool has_time(const char *line)
{
    for (bool begins = true; *line; begins = *line == ' ' || *line == '\t', line++)
        if (begins && *line >= '0' && *line <= '9' && is_time(line))
            return true;
    return false;
}

/* "4711/4712" or "4711" with the thread in it; false when it is neither. */
static bool take_ids(const char *word, uint32_t *process, uint32_t *thread)
{
    char *end;

    *process = *thread = (uint32_t)strtoul(word, &end, 10);
    if (end == word || (*end && *end != '/'))
        return false;
    if (*end == '/')
        *thread = (uint32_t)strtoul(end + 1, &end, 10);
    return *end == 0;
}

enum { MOST_WORDS = 64 };

/* The first words of a sample's first line, and where the one is that is a time. */
struct words {
    char *text; /* they are in this copy of the line */
    char *words[MOST_WORDS];
    size_t count, time;
};

static struct words split(const char *line)
{
    struct words words = {.text = memory_duplicate_string(line)};

    for (char *word, *rest = words.text; words.count < MOST_WORDS && (word = strsep(&rest, " \t"));)
        if (*word)
            words.words[words.count++] = word;
    while (words.time < words.count && !is_time(words.words[words.time]))
        words.time++;
    return words;
}

static void take_event(struct perf *perf, const char *event)
{
    if (!perf->event)
        perf->event = memory_duplicate_string(event);
    perf->counted = !strcmp(perf->event, event);
}

/* The command's name may have spaces, so the words are read from the time backwards. */
static void take_thread(struct perf *perf, const struct words *words)
{
    uint32_t process = 0, thread = 0;
    size_t ids = words->time, end;

    while (ids > 0 && !take_ids(words->words[ids - 1], &process, &thread))
        ids--;
    end = ids ? ids - 1 : words->time;
    char *command = memory_duplicate_string(end ? words->words[0] : "");
    for (size_t i = 1; i < end; i++) {
        char *longer = memory_format("%s %s", command, words->words[i]);
        free(command);
        command = longer;
    }
    perf->root = maker_thread(&perf->maker, process, thread, command);
    free(command);
}

/* What is behind the time; returns how far into the line that goes. */
static size_t take_period_and_event(struct perf *perf, const struct words *words)
{
    size_t at = words->time + 1;

    perf->period = 1;
    if (at < words->count && words->words[at][strspn(words->words[at], "0123456789")] == 0)
        perf->period = strtoull(words->words[at++], NULL, 10);
    const char *event = at < words->count ? words->words[at] : "";
    take_event(perf, event);
    return *event ? (size_t)(event - words->text) + strlen(event) : 0;
}

/* The names that waited, all of one object. */
static void add_frames(struct perf *perf, const char *object)
{
    for (size_t i = 0; i < perf->inlined_count; i++)
        *array_push(perf->frames, perf->frame_count, perf->frame_capacity) =
            maker_function(&perf->maker, perf->inlined[i], object);
    perf->inlined_count = 0;
}

/* "   55d0 name+0x10 (/path)": the object is the last parenthesis, the name what is between. */
static void read_frame(struct perf *perf, char *line)
{
    line += strspn(line, " \t");
    size_t digits = strspn(line, "0123456789abcdef");
    if (digits == 0 || !isspace((unsigned char)line[digits]))
        return;
    char *name = line + digits + strspn(line + digits, " \t");
    size_t length = strlen(name);
    char *object = "";
    char *open = length && name[length - 1] == ')' ? strrchr(name, '(') : NULL;
    if (open && open > name && open[-1] == ' ') {
        name[length - 1] = 0;
        open[-1] = 0;
        object = open + 1;
    }
    char *offset = strrchr(name, '+');
    if (offset && !strncmp(offset, "+0x", 3) &&
        offset[3 + strspn(offset + 3, "0123456789abcdef")] == 0)
        *offset = 0;
    *array_push(perf->inlined, perf->inlined_count, perf->inlined_capacity) = name;
    if (strcmp(object, "inlined"))
        add_frames(perf, object);
}

static int end_sample(struct perf *perf, size_t number, const char *name, struct error *error)
{
    uint32_t context = perf->root;
    int result = OK;

    add_frames(perf, "");
    if (perf->in_sample && perf->counted) {
        if (perf->frame_count == 0)
            context =
                maker_context(&perf->maker, context, maker_function(&perf->maker, "[unknown]", ""));
        for (size_t i = perf->frame_count; i-- > 0;)
            context = maker_context(&perf->maker, context, perf->frames[i]);
        if (maker_add(&perf->maker, context, perf->period, 0))
            result = error_set(error, "%s: line %zu: the periods exceed 64 bits", name, number);
    }
    perf->in_sample = false;
    perf->frame_count = 0;
    return result;
}

/* What a tracepoint says of itself is behind its event too. */
static bool is_frame(const char *text)
{
    text += strspn(text, " \t");
    size_t digits = strspn(text, "0123456789abcdef"), length = strlen(text);

    return digits && isspace((unsigned char)text[digits]) &&
           (digits >= 6 || text[length - 1] == ')');
}

static void start_sample(struct perf *perf, char *line)
{
    struct words words = split(line);

    take_thread(perf, &words);
    size_t used = take_period_and_event(perf, &words);
    if (used && is_frame(line + used))
        read_frame(perf, line + used);
    perf->in_sample = true;
    free(words.text);
}

static int read_line(struct perf *perf, char *line, size_t number, const char *name,
                     struct error *error)
{
    size_t length = strlen(line);

    if (length && line[length - 1] == '\r')
        line[--length] = 0;
    if (line[strspn(line, " \t")] == 0)
        return end_sample(perf, number, name, error);
    if (*line == '#')
        return OK;
    if (!has_time(line)) {
        if (!perf->in_sample || !isspace((unsigned char)*line))
            return error_set(error, "%s: line %zu: not the output of perf script, with times", name,
                             number);
        read_frame(perf, line);
        return OK;
    }
    if (end_sample(perf, number, name, error))
        return ERROR;
    if (!strstr(line, ": PERF_RECORD_"))
        start_sample(perf, line);
    return OK;
}

static int perf_read(const struct file_bytes *input, const char *name, struct profile **profile,
                     struct error *error)
{
    struct perf perf = {0};
    char *at = (char *)input->bytes;
    size_t number = 0;
    int result = OK;

    *profile = NULL;
    if (memchr(input->bytes, 0, input->size_bytes))
        return error_set(error, "%s: not text; give the output of perf script", name);
    maker_start(&perf.maker, "import:perf");
    for (char *line; result == OK && (line = strsep(&at, "\n"));)
        result = read_line(&perf, line, ++number, name, error);
    if (result == OK)
        result = end_sample(&perf, number, name, error);
    if (result == OK && !perf.event)
        result = error_set(error, "%s: has no samples", name);
    if (result == OK) {
        char *command = memory_format("perf: %s", perf.event);
        size_t length = strlen(command);
        if (command[length - 1] == ':')
            command[length - 1] = 0;
        perf.maker.profile->meta.command = profile_intern(perf.maker.profile, command);
        free(command);
        *profile = maker_finish(&perf.maker);
    }
    maker_discard(&perf.maker);
    free(perf.event);
    free(perf.frames);
    free(perf.inlined);
    return result;
}

const struct import_format import_perf = {
    .name = "perf",
    .summary = "the text of perf script",
    .read = perf_read,
};
