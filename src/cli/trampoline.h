/* trampoline.h: the command `trueflame trampoline`. */
#ifndef TRUEFLAME_CLI_TRAMPOLINE_H
#define TRUEFLAME_CLI_TRAMPOLINE_H

int command_trampoline(int argc, char **argv);

#endif
