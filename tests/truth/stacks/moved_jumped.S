/*
 * A process that waits, and whose stack is moved meanwhile, may be gone on with by a jump to where it
 * was, in the middle of a function: Erlang's do. No return says where it is; but the places that it will
 * return to lie above the stack pointer.
 *
 * build: freestanding
 * oracle: total
 * tree:
 *     _start 5
 *     _start;main 19
 *     _start;main;move 9
 *     process 3
 *     process;outer 2
 *     process;outer;middle 10
 *     process;outer;middle;leaf 2
 */
#include "assembly.h"

function main           # 19
    open_frame
    mov %rsp, main_sp(%rip)
    lea .Lwaits(%rip), %rax
    mov %rax, main_goes_on(%rip)
    lea first_end(%rip), %rsp
    lea process(%rip), %rax
    jmp *%rax
.Lwaits:
    call move
    lea .Lends(%rip), %rax
    mov %rax, main_goes_on(%rip)
    mov process_sp(%rip), %rsp
    jmp *process_goes_on(%rip)
.Lends:
    xor %eax, %eax
    mov main_sp(%rip), %rsp
    mov %rsp, %rbp
    nop
    close_frame
    ret
end main

function process        # 3
    call outer
    mov main_sp(%rip), %rsp
    jmp *main_goes_on(%rip)
end process

function outer          # 2
    call middle
    ret
end outer

function middle         # 10
    sub $24, %rsp
    mov %rsp, process_sp(%rip)
    lea .Lmiddle(%rip), %rax
    mov %rax, process_goes_on(%rip)
    mov main_sp(%rip), %rsp
    jmp *main_goes_on(%rip)
.Lmiddle:
    call leaf
    add $24, %rsp
    nop
    ret
end middle

function leaf           # 2
    nop
    ret
end leaf

function move           # 9
    lea first(%rip), %rsi
    lea second(%rip), %rdi
    mov $1024, %ecx
    rep movsb
    lea second(%rip), %rax
    lea first(%rip), %rdx
    sub %rdx, %rax
    add %rax, process_sp(%rip)
    ret
end move

    .bss
    .balign 4096
first:
    .skip 1024
first_end:
    .skip 65536
second:
    .skip 1024
    .balign 8
main_sp:         .skip 8
main_goes_on:    .skip 8
process_sp:      .skip 8
process_goes_on: .skip 8
