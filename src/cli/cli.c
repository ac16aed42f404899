#include "cli/command.h"

#include "common/memory.h"
#include "formats/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(const char *format, ...)
{
    va_list arguments;

    fputs("trueflame: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    putc('\n', stderr);
    return EXIT_BAD_INPUT;
}

int cli_fail_error(const struct error *error)
{
    return cli_fail("%s", error->text);
}

/* getopt_long leaves a letter in optopt for short options, and for long ones it knows: then the
 * argument is what was wrong. */
int cli_fail_option(const char *command, char **argv, int code)
{
    const char *word = argv[optind - 1];

    if (code == ':')
        return cli_fail("%s: option '%s' needs a value", command, word);
    if (optopt && (word[0] != '-' || word[1] != '-'))
        return cli_fail("%s: unknown option '-%c'; see trueflame %s --help", command, optopt,
                        command);
    if (optopt)
        return cli_fail("%s: option '%s' takes no value", command, word);
    return cli_fail("%s: unknown option '%s'; see trueflame %s --help", command, word, command);
}

int cli_parse_number(const char *option, const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return cli_fail("%s=%s: not a whole number", option, text);
    return OK;
}

int cli_parse_choice(const char *option, const char *value, const char *const *choices, int *chosen)
{
    char *list = memory_duplicate_string("");

    for (int i = 0; choices[i]; i++) {
        if (!strcmp(value, choices[i])) {
            *chosen = i;
            free(list);
            return OK;
        }
        char *longer = memory_format("%s%s%s", list, *list ? ", " : "", choices[i]);
        free(list);
        list = longer;
    }
    cli_fail("%s=%s: must be one of %s", option, value, list);
    free(list);
    return ERROR;
}

void cli_group_number(char *grouped, uint64_t value)
{
    text_grouped(grouped, value);
}

int cli_finish_output(void)
{
    if (fflush(stdout) || ferror(stdout))
        return cli_fail("standard output: %s", strerror(errno));
    return 0;
}
