/*
 * A local and a global name at one address; a local function with the name of no other.
 *
 * build: freestanding
 * tree:
 *     _start 5
 *     _start;main 7
 *     _start;main;exported|hidden 2
 *     _start;main;own 2
 */
#include "assembly.h"

function main           # 7
    open_frame
    call hidden
    call own
    xor %eax, %eax
    close_frame
    ret
end main

.type hidden, @function
hidden:
function exported       # 2
    nop
    ret
end exported
    .size hidden, . - hidden

.type own, @function
own:                    # 2
    nop
    ret
    .size own, . - own
