/*
 * line_program.c: the state machine of DWARF's line-number programs, row by row.
 *
 * libdw runs these programs too, but hands out the rows of all sequences sorted together. A row
 * at the very end of one sequence then seems to hold up to the next one, and rows of code that the
 * linker discarded, which start at 0, mix with rows of real code. Within a sequence the order of
 * the rows is what gives them their meaning, so the programs are run here. The tables of file
 * names in front of them are libdw's business.
 *
 * Cost: a few nanoseconds a row, no memory. Every read is checked against the end of the program,
 * and every step consumes at least a byte of it.
 */
#include "symbols/line_program.h"

#include <string.h>

enum {
    COPY = 1,
    ADVANCE_PC,
    ADVANCE_LINE,
    SET_FILE,
    SET_COLUMN,
    NEGATE_STATEMENT,
    SET_BASIC_BLOCK,
    CONST_ADD_PC,
    FIXED_ADVANCE_PC,
};

enum {
    END_SEQUENCE = 1,
    SET_ADDRESS,
};

struct cursor {
    const uint8_t *at, *end;
    bool failed; /* something did not fit; every read after that gives 0 */
};

struct header {
    uint8_t minimum_instruction_length;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *operand_counts; /* of opcodes 1 up to opcode_base */
};

struct machine {
    struct header header;
    struct cursor program;
    line_program_span *span;
    void *opaque;
    uint64_t address, file, line;
    /* The last row, which holds up to the next one: */
    bool has_row;
    uint64_t row_address, row_file, row_line;
    uint64_t sequence_start;
};

static uint64_t read_number(struct cursor *cursor, size_t size_bytes)
{
    uint64_t value = 0;

    if (cursor->failed || (size_t)(cursor->end - cursor->at) < size_bytes ||
        size_bytes > sizeof value) {
        cursor->failed = true;
        return 0;
    }
    memcpy(&value, cursor->at, size_bytes);
    cursor->at += size_bytes;
    return value;
}

static uint64_t read_unsigned(struct cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = read_number(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t read_signed(struct cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0;;) {
        uint64_t byte = read_number(cursor, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if (shift < 64 && (byte & 0x40))
            value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
}

/* A length of 0xffffffff says that 64-bit lengths are used. */
static uint64_t read_length(struct cursor *cursor, size_t *offset_bytes)
{
    uint64_t length = read_number(cursor, 4);

    *offset_bytes = 4;
    if (length != 0xffffffff)
        return length;
    *offset_bytes = 8;
    return read_number(cursor, 8);
}

/* Leaves the cursor at the first opcode, ending where the program ends. */
static bool read_header(struct cursor *cursor, struct header *header)
{
    size_t offset_bytes;
    uint64_t length = read_length(cursor, &offset_bytes);

    if (cursor->failed || length > (uint64_t)(cursor->end - cursor->at))
        return false;
    cursor->end = cursor->at + length;
    uint64_t version = read_number(cursor, 2);
    if (version < 2 || version > 5)
        return false;
    if (version >= 5)
        read_number(cursor, 2); /* sizes of addresses and of segment selectors */
    uint64_t header_length = read_number(cursor, offset_bytes);
    if (cursor->failed || header_length > (uint64_t)(cursor->end - cursor->at))
        return false;
    const uint8_t *program = cursor->at + header_length;
    header->minimum_instruction_length = (uint8_t)read_number(cursor, 1);
    uint64_t operations = version >= 4 ? read_number(cursor, 1) : 1;
    read_number(cursor, 1); /* whether rows are statements at first */
    header->line_base = (int8_t)read_number(cursor, 1);
    header->line_range = (uint8_t)read_number(cursor, 1);
    header->opcode_base = (uint8_t)read_number(cursor, 1);
    header->operand_counts = cursor->at;
    /* Several operations in one instruction exist on no machine that trueflame knows. */
    if (cursor->failed || operations > 1 || header->line_range == 0 || header->opcode_base == 0 ||
        header->opcode_base - 1 > cursor->end - cursor->at || program < cursor->at)
        return false;
    cursor->at = program;
    return true;
}

static void start_sequence(struct machine *machine)
{
    machine->address = 0;
    machine->file = 1;
    machine->line = 1;
    machine->has_row = false;
}

/* Ends the span of the row before; false when its receiver wants no more. */
static bool add_row(struct machine *machine)
{
    if (!machine->has_row)
        machine->sequence_start = machine->address;
    else if (machine->row_address < machine->address &&
             !machine->span(machine->opaque, machine->sequence_start, machine->row_address,
                            machine->address, machine->row_file, machine->row_line))
        return false;
    machine->has_row = true;
    machine->row_address = machine->address;
    machine->row_file = machine->file;
    machine->row_line = machine->line;
    return true;
}

static void advance_address(struct machine *machine, uint64_t instructions)
{
    machine->address += instructions * machine->header.minimum_instruction_length;
}

static bool run_extended(struct machine *machine)
{
    struct cursor *program = &machine->program;
    uint64_t length = read_unsigned(program);

    if (program->failed || length == 0 || length > (uint64_t)(program->end - program->at))
        return false;
    const uint8_t *next = program->at + length;
    uint64_t opcode = read_number(program, 1);
    bool wanted = true;
    if (opcode == END_SEQUENCE) {
        wanted = add_row(machine);
        start_sequence(machine);
    } else if (opcode == SET_ADDRESS) {
        machine->address = read_number(program, (size_t)length - 1);
    }
    program->at = next;
    return wanted && !program->failed;
}

static bool run_special(struct machine *machine, unsigned opcode)
{
    int adjusted = (int)opcode - machine->header.opcode_base;

    advance_address(machine, (uint64_t)(adjusted / machine->header.line_range));
    machine->line += (uint64_t)(machine->header.line_base + adjusted % machine->header.line_range);
    return add_row(machine);
}

static bool run_standard(struct machine *machine, unsigned opcode)
{
    struct cursor *program = &machine->program;

    switch (opcode) {
    case COPY:
        return add_row(machine);
    case ADVANCE_PC:
        advance_address(machine, read_unsigned(program));
        break;
    case ADVANCE_LINE:
        machine->line += (uint64_t)read_signed(program);
        break;
    case SET_FILE:
        machine->file = read_unsigned(program);
        break;
    case CONST_ADD_PC:
        advance_address(machine, (255u - machine->header.opcode_base) / machine->header.line_range);
        break;
    case FIXED_ADVANCE_PC:
        machine->address += read_number(program, 2);
        break;
    default:
        for (unsigned i = 0; i < machine->header.operand_counts[opcode - 1]; i++)
            read_unsigned(program);
    }
    return true;
}

int line_program_run(const uint8_t *section, size_t section_bytes, uint64_t offset,
                     line_program_span *span, void *opaque)
{
    struct machine machine = {.span = span, .opaque = opaque};

    if (offset >= section_bytes)
        return -1;
    machine.program = (struct cursor){section + offset, section + section_bytes, false};
    if (!read_header(&machine.program, &machine.header))
        return -1;
    start_sequence(&machine);
    bool wanted = true;
    while (wanted && !machine.program.failed && machine.program.at < machine.program.end) {
        unsigned opcode = (unsigned)read_number(&machine.program, 1);
        if (opcode >= machine.header.opcode_base)
            wanted = run_special(&machine, opcode);
        else if (opcode == 0)
            wanted = run_extended(&machine);
        else
            wanted = run_standard(&machine, opcode);
    }
    return wanted && !machine.program.failed ? 0 : -1;
}
