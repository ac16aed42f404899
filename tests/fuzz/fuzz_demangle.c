/*
 * fuzz_demangle.c: symbol names from files that may be anything. They end, within the memory that
 * demangle.c allows them.
 */
#include "common/memory.h"
#include "symbols/demangle.h"
#include "symbols/symbol_table.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *symbol = memory_allocate(size + 1);

    memcpy(symbol, data, size);
    symbol[size] = '\0';
    size_t length = symbol_name_length(symbol);
    if (length > strlen(symbol) || symbol_base_length(symbol, length) > length)
        abort();
    free(demangle_symbol(symbol));
    free(symbol);
    return 0;
}
