# A start for picolibc on the stack that a kernel gives, where qemu-riscv64 can run it too: its own
# start-up code sets machine-level registers, at which qemu-riscv64 ends.
    .globl _start
_start:
    .option push
    .option norelax
    lla gp, __global_pointer$
    .option pop
    lla tp, thread_data
    li a0, 1
    lla a1, arguments
    call main
    call exit

    .data
    .balign 8
arguments:
    .quad name, 0
name:
    .asciz "name"

    .bss
    .balign 16
thread_data:
    .zero 256
    .globl __heap_start, __heap_end
__heap_start:
    .zero 65536
__heap_end:
