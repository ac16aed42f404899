#include "cli/command.h"

int command_record(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_fail("record: not built in this tree");
}
