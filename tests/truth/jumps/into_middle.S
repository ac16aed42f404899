/*
 * Code shared between functions: a jump into the middle of another one, and a call to a second
 * entry. It is the other function that runs.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 9
 *     _start;main;borrower 2
 *     _start;main;owner 10
 *     _start;main;owner;leaf 3
 * tree --tail-calls=keep:
 *     _start 5
 *     _start;main 9
 *     _start;main;borrower 2
 *     _start;main;borrower;owner 3
 *     _start;main;borrower;owner;leaf 1
 *     _start;main;owner 7
 *     _start;main;owner;leaf 2
 */
#include "assembly.h"

function main           # 2 + 4 + 3
    open_frame
    nop
    call borrower
    call owner
    call .Lsecond_entry
    xor %eax, %eax
    close_frame
    ret
end main

function borrower       # 2
    nop
    jmp .Lsecond_entry
end borrower

function owner          # 4 from the start, 3 from the second entry
    nop
.Lsecond_entry:
    call leaf
    nop
    ret
end owner

function leaf           # 1, three times
    ret
end leaf
