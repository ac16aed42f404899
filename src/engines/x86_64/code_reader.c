/* code_reader.c: see code_reader.h. */
#include "engines/x86_64/code_reader.h"
#include "core/platform.h"

void code_reader_init(struct code_reader *reader, uint64_t start, uint64_t end)
{
    reader->at = reader->start = start;
    reader->end = end;
    reader->count = 0;
}

/* Never across two pages, of which one may be there. */
static void read_more(struct code_reader *reader)
{
    uint64_t next = reader->start + reader->count, left = reader->end - next;
    unsigned step = CODE_READER_STEP - next % CODE_READER_STEP;

    if (step > left)
        step = left;
    if (platform_read(next, reader->bytes + reader->count, step))
        reader->count += step;
    else
        reader->end = next;
}

/* How many bytes of the next instruction are there. */
static unsigned look(struct code_reader *reader)
{
    uint64_t offset = reader->at - reader->start;

    if (offset > reader->count || offset > CODE_READER_KEEP) {
        reader->start = reader->at;
        reader->count = 0;
    }
    while (reader->start + reader->count < reader->end &&
           reader->start + reader->count - reader->at < INSTRUCTION_LENGTH_MAX)
        read_more(reader);
    return reader->start + reader->count - reader->at;
}

bool code_reader_next(struct code_reader *reader, struct instruction *out)
{
    unsigned available = look(reader);

    if (!instruction_decode(reader->bytes + (reader->at - reader->start), available, out))
        return false;
    reader->at += out->length;
    return true;
}
