/* demangle_dump.c: reads symbols, one a line, prints what demangle_symbol makes of them. */
#include "symbols/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;

    while (getline(&line, &capacity, stdin) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *name = demangle_symbol(line);
        puts(name ? name : line);
        free(name);
    }
    free(line);
    return 0;
}
