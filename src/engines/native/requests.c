/* requests.c: see requests.h. */
#include "engines/native/requests.h"
#include "engines/native/gate.h"
#include "engines/native/record.h"
#include "engines/native/text.h"
#include "engines/native/threads.h"
#include "trueflame/trueflame.h"

bool requests_end_at(const uint8_t *end, unsigned before)
{
    static const uint8_t sequence[] = {
        0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1,
        0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87, 0xdb,
    };
    return before >= sizeof sequence && !memcmp(end - sizeof sequence, sequence, sizeof sequence);
}

/* A text of the program's, cut at the buffer's size. */
static void take_text(uint64_t address, char *text, size_t size)
{
    size_t length = 0;
    while (length + 1 < size && address && gate_copy(text + length, (char *)address + length, 1) &&
           text[length])
        length++;
    text[length] = 0;
}

static bool perform(uint64_t number, uint64_t argument)
{
    char text[4096];
    take_text(argument, text, sizeof text);
    switch (number) {
    case TRUEFLAME_REQUEST_DUMP:
        core_dump(&core, "");
        return true;
    case TRUEFLAME_REQUEST_DUMP_NAMED:
        core_dump(&core, text);
        return true;
    case TRUEFLAME_REQUEST_ZERO:
        core_zero(&core);
        return true;
    case TRUEFLAME_REQUEST_START:
        core_start(&core);
        return true;
    case TRUEFLAME_REQUEST_STOP:
        core_stop(&core);
        return true;
    case TRUEFLAME_REQUEST_TOGGLE:
        (core.recording ? core_stop : core_start)(&core);
        return true;
    case TRUEFLAME_REQUEST_SKIP_OBJECT:
        core_skip_object(&core, text);
        return true;
    case TRUEFLAME_REQUEST_LABEL:
        core_label(&core, text);
        return true;
    default:
        return false;
    }
}

void requests_perform(struct native_thread *thread)
{
    uint64_t words[2];
    record_settle(thread);
    if (!gate_copy(words, (void *)thread->registers[REGISTER_RAX], sizeof words) ||
        !perform(words[0], words[1]))
        return;
    thread->registers[REGISTER_RDX] = 0;
    threads_change_plane(thread);
}
