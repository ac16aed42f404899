/*
 * entry.S: the engine's first instruction, and the ways between the cache and C.
 *
 * Leaving the cache stores the sixteen registers and the flags and goes on with the engine's own
 * stack. Vector and x87 registers stay as they are: the engine is compiled without them.
 */
#include "engines/native/layout.h"
#include <asm/prctl.h>
#include <asm/unistd.h>

#define REGISTER(n) %gs:THREAD_REGISTERS + 8 * n

        .text
        .globl _start
_start: xor %ebp, %ebp
        mov %rsp, %rdi
        lea first_stack_top(%rip), %rsp
        call engine_main
        ud2

        .globl thread_leave_cache
thread_leave_cache:
        mov %rax, REGISTER(0)
        mov %rcx, REGISTER(1)
        mov %rdx, REGISTER(2)
        mov %rbx, REGISTER(3)
        mov %rsp, REGISTER(4)
        mov %rbp, REGISTER(5)
        mov %rsi, REGISTER(6)
        mov %rdi, REGISTER(7)
        mov %r8, REGISTER(8)
        mov %r9, REGISTER(9)
        mov %r10, REGISTER(10)
        mov %r11, REGISTER(11)
        mov %r12, REGISTER(12)
        mov %r13, REGISTER(13)
        mov %r14, REGISTER(14)
        mov %r15, REGISTER(15)
        mov %gs:THREAD_STACK, %rsp
        pushfq
        popq %gs:THREAD_FLAGS
        pushq $2
        popfq
        mov %gs:THREAD_SELF, %rdi
        call thread_dispatch
        mov %rax, %gs:THREAD_CACHE_PC
        mov %gs:THREAD_SELF, %rdi

        /* A signal that is held now is delivered at the first state of the program in the cache,
         * which the trap flag finds; one that comes from here on sets the flag itself. */
        .globl thread_resume, thread_resume_flags
thread_resume:
        mov THREAD_STACK(%rdi), %rsp
        cmpq $0, THREAD_PENDING(%rdi)
        je 1f
        orq $0x100, THREAD_FLAGS(%rdi)
1:      pushq THREAD_FLAGS(%rdi)
thread_resume_flags:
        popfq
        mov REGISTER(0), %rax
        mov REGISTER(1), %rcx
        mov REGISTER(2), %rdx
        mov REGISTER(3), %rbx
        mov REGISTER(4), %rsp
        mov REGISTER(5), %rbp
        mov REGISTER(6), %rsi
        mov REGISTER(7), %rdi
        mov REGISTER(8), %r8
        mov REGISTER(9), %r9
        mov REGISTER(10), %r10
        mov REGISTER(11), %r11
        mov REGISTER(12), %r12
        mov REGISTER(13), %r13
        mov REGISTER(14), %r14
        mov REGISTER(15), %r15
        jmp *%gs:THREAD_CACHE_ENTRY
        .globl thread_resume_end
thread_resume_end:

        /* A sequence of the cache has rax, rcx and rdx spilled and the flags free: what else C may
         * change is saved. DF and AC are not C's; they are hardly ever set. The flags stay on the
         * stack: a signal that is held sets the trap flag there, or in the processor if it comes
         * later than that. */
        .globl thread_leave_inner, thread_return_inner
        .globl thread_return_inner_flags, thread_return_inner_end
thread_leave_inner:
        mov %rsi, REGISTER(6)
        mov %rdi, REGISTER(7)
        mov %r8, REGISTER(8)
        mov %r9, REGISTER(9)
        mov %r10, REGISTER(10)
        mov %r11, REGISTER(11)
        mov %rsp, REGISTER(4)
        mov %gs:THREAD_STACK, %rsp
        pushfq
        testl $0x40400, (%rsp)
        jz 1f
        pushq $2
        popfq
1:      sub $8, %rsp
        mov %gs:THREAD_SELF, %rdi
        call thread_dispatch_inner
        add $8, %rsp
thread_return_inner:
        cmpq $0, %gs:THREAD_PENDING
        je 1f
        orl $0x100, (%rsp)
1:      testl $0x40500, (%rsp)
        jz 1f
thread_return_inner_flags:
        popfq
1:      mov REGISTER(6), %rsi
        mov REGISTER(7), %rdi
        mov REGISTER(8), %r8
        mov REGISTER(9), %r9
        mov REGISTER(10), %r10
        mov REGISTER(11), %r11
        mov REGISTER(4), %rsp
        jmp *%gs:THREAD_INNER_ENTRY
thread_return_inner_end:

        .globl thread_clone
thread_clone:                           /* rdi: number, rsi: arguments, rdx: child */
        push %r12
        mov %rdx, %r12
        mov %rdi, %rax
        mov %rsi, %r11
        mov 0x00(%r11), %rdi
        mov 0x08(%r11), %rsi
        mov 0x10(%r11), %rdx
        mov 0x18(%r11), %r10
        mov 0x20(%r11), %r8
        mov 0x28(%r11), %r9
        syscall
        test %rax, %rax
        jz 1f
        pop %r12
        ret
1:      xor %ebp, %ebp
        mov $__NR_arch_prctl, %eax
        mov $ARCH_SET_GS, %edi
        mov %r12, %rsi
        syscall
        mov %r12, %rdi
        mov THREAD_STACK(%rdi), %rsp
        call thread_clone_child

        .globl thread_end
thread_end:                             /* rdi: mark, rsi: status. After the store, no stack. */
        mov $__NR_exit, %eax
        mov %rdi, %rdx
        mov %rsi, %rdi
        movl $1, (%rdx)
        syscall
        ud2

        .bss
        .balign 64
        .skip 262144
first_stack_top:
        .section .note.GNU-stack, "", @progbits
