/*
 * code_reader.h: code of the program, to be decoded an instruction at a time.
 *
 * It is copied (platform_read), a few instructions at once, and never looked at where it is: another
 * thread of the program may unmap it at any moment, whatever the list of mappings has just said. What
 * cannot be read is as if the code ended before it.
 */
#ifndef TRUEFLAME_X86_64_CODE_READER_H
#define TRUEFLAME_X86_64_CODE_READER_H

#include "engines/x86_64/decode.h"

#define CODE_READER_STEP 64   /* bytes that are copied at once, at most */
#define CODE_READER_KEEP 1536 /* bytes, from the first that was asked for, that are kept */

struct code_reader {
    uint64_t at;    /* of the next instruction; may be set */
    uint64_t end;   /* of the code: less than was said, if that cannot be read */
    uint64_t start; /* of what is in `bytes` */
    unsigned count; /* of those */
    uint8_t bytes[CODE_READER_KEEP + 2 * CODE_READER_STEP];
};

void code_reader_init(struct code_reader *reader, uint64_t start, uint64_t end);

/* The instruction at `at`, which is behind it then. False: the code is at its end, or is none. As long
 * as `at` is left alone, and within CODE_READER_KEEP, `bytes` are those from the first on. */
bool code_reader_next(struct code_reader *reader, struct instruction *out);

#endif
