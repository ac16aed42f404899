/*
 * Environment calls are leaves below who makes them; each is one instruction.
 *
 * tree:
 *     _start 2
 *     _start;ecall:exit 1
 *     _start;main 8
 *     _start;main;ecall:getpid 2
 *     _start;main;asks 3
 *     _start;main;asks;ecall:getuid 1
 */
#include "assembly.h"

function asks
    li a7, 174
    ecall
    li a0, 0
    ret
end asks

function main
    mv s0, ra
    li a7, 172
    ecall
    ecall
    jal ra, asks
    nop
    mv ra, s0
    nop
    li a0, 0
    ret
end main
