/*
 * Several names for one function: one of them is shown, always the same one, whichever was called.
 * Global or weak names come before local ones, then those with fewer leading underscores, then
 * global before weak, the shorter, and the first in the alphabet.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 11
 *     _start;main;beta 6
 *     _start;main;write 6
 *     _start;main;wanted 4
 */
#include "assembly.h"

function main           # 2 + 6 + 3
    open_frame
    call alpha
    call beta
    call __write
    call write
    call aaa
    call wanted
    xor %eax, %eax
    close_frame
    ret
end main

function alpha          # 3, twice: beta is shorter
function beta
    nops 2
    ret
end alpha
end beta

.weak write             # 3, twice: the weak name is the one that people write
.type write, @function
write:
function __write
    nops 2
    ret
end write
end __write

.type aaa, @function    # 2, twice: a local name gives way
aaa:
function wanted
    nop
    ret
end aaa
end wanted
