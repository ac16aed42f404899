/* gate.S: see gate.h. */
#include "engines/native/layout.h"
#include <asm/unistd.h>

        .text
        .globl gate_call, gate_call_start, gate_call_syscall, gate_call_end, gate_call_not_begun
gate_call:                              /* rdi: registers, rsi: begun */
        push %rbx
        mov %rsi, %rbx
        movb $1, (%rsi)
        mov 0x00(%rdi), %rax
        mov 0x10(%rdi), %rdx
        mov 0x30(%rdi), %rsi
        mov 0x40(%rdi), %r8
        mov 0x48(%rdi), %r9
        mov 0x50(%rdi), %r10
        mov 0x38(%rdi), %rdi
gate_call_start:
        cmpq $0, %gs:THREAD_PENDING
        jne gate_call_not_begun
gate_call_syscall:
        syscall
gate_call_end:
        pop %rbx
        ret
gate_call_not_begun:
        movb $0, (%rbx)
        pop %rbx
        ret

        .globl gate_copy_here, gate_copy_start, gate_copy_end, gate_copy_failed
gate_copy_here:                         /* most are of a word, or of little code */
        mov %rdx, %rcx
        xor %r8d, %r8d
        sub $8, %rdx
gate_copy_start:
        je 2f
        cmp $120, %rdx
        ja 3f                           /* or less than nothing */
1:      mov (%rsi,%r8), %rax
        mov %rax, (%rdi,%r8)
        add $8, %r8
        cmp %rdx, %r8
        jb 1b
2:      mov (%rsi,%rdx), %rax           /* what is left, and some of it again */
        mov %rax, (%rdi,%rdx)
        jmp gate_copy_end
3:      rep movsb
gate_copy_end:
        mov $1, %eax
        ret
gate_copy_failed:
        xor %eax, %eax
        ret

        .globl gate_unblock, gate_unblock_start, gate_unblock_end
gate_unblock:
        mov %rdi, %rsi
        mov $2, %edi                    /* SIG_SETMASK */
        xor %edx, %edx
        mov $8, %r10d
        mov $__NR_rt_sigprocmask, %eax
gate_unblock_start:
        syscall
gate_unblock_end:
        ret

        .globl gate_return_from, gate_signal_return
gate_return_from:
        mov %rdi, %rsp
gate_signal_return:
        mov $__NR_rt_sigreturn, %eax
        syscall
        ud2
        .section .note.GNU-stack, "", @progbits
