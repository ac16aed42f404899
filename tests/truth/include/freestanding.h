/*
 * freestanding.h: what the programs in C that use no library share: `_start`, system calls,
 * signals, setjmp and stack switching, all with code so plain that its frames can be followed.
 */
#ifndef FREESTANDING_H
#define FREESTANDING_H

typedef unsigned long word;

#define NOINLINE __attribute__((noinline, noclone, noipa))

/* _start calls main and exits with what it returned: 5 instructions, or 7 when main wants to know
 * its arguments. */
#ifdef WITH_ARGUMENTS
#define LOAD_ARGUMENTS "    mov (%rsp), %rdi\n    lea 8(%rsp), %rsi\n"
#else
#define LOAD_ARGUMENTS ""
#endif
__asm__(".globl _start\n.type _start, @function\n"
        "_start: xor %ebp, %ebp\n" LOAD_ARGUMENTS "    call main\n"
        "    mov %eax, %edi\n"
        "    mov $231, %eax\n"
        "    syscall\n"
        ".size _start, . - _start\n");

__attribute__((always_inline)) static inline word system_call(word number, word a, word b, word c,
                                                              word d, word e, word f)
{
    register word r10 __asm__("r10") = d;
    register word r8 __asm__("r8") = e;
    register word r9 __asm__("r9") = f;
    word result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define SYS_read           0
#define SYS_write          1
#define SYS_mmap           9
#define SYS_munmap         11
#define SYS_rt_sigaction   13
#define SYS_rt_sigprocmask 14
#define SYS_rt_sigreturn   15
#define SYS_pipe           22
#define SYS_getpid         39
#define SYS_fork           57
#define SYS_vfork          58
#define SYS_execve         59
#define SYS_exit           60
#define SYS_wait4          61
#define SYS_kill           62
#define SYS_sigaltstack    131
#define SYS_exit_group     231

#define CALL0(number)          system_call(number, 0, 0, 0, 0, 0, 0)
#define CALL1(number, a)       system_call(number, (word)(a), 0, 0, 0, 0, 0)
#define CALL2(number, a, b)    system_call(number, (word)(a), (word)(b), 0, 0, 0, 0)
#define CALL3(number, a, b, c) system_call(number, (word)(a), (word)(b), (word)(c), 0, 0, 0)
#define CALL4(number, a, b, c, d)                                                                  \
    system_call(number, (word)(a), (word)(b), (word)(c), (word)(d), 0, 0)

/* A call to say(text) shows on standard output that the program came this far. */
#define say(text) ((void)CALL3(SYS_write, 1, text, sizeof(text) - 1))

static volatile word sink;

/* ---- memory ---- */
#define MEMORY_READ_WRITE         3
#define MEMORY_READ_WRITE_EXECUTE 7
#define map_memory(size, protection)                                                               \
    ((void *)system_call(SYS_mmap, 0, size, protection, 0x22 /* private, anonymous */, (word)-1, 0))

/* ---- signals ---- */
#define SIGFPE_NUMBER  8
#define SIGUSR1_NUMBER 10
#define SIGSEGV_NUMBER 11
#define SIGUSR2_NUMBER 12

#define ON_ALTERNATE_STACK 0x08000000ul
#define NOT_MASKED         0x40000000ul

struct signal_action {
    void (*handler)(int number, void *information, void *context);
    word flags;
    void (*restorer)(void);
    word mask;
};

void __restore_rt(void);
__asm__(".globl __restore_rt\n.type __restore_rt, @function\n"
        "__restore_rt: mov $15, %rax\n"
        "    syscall\n"
        ".size __restore_rt, . - __restore_rt\n");

#define handle_signal(number, function, extra_flags)                                               \
    do {                                                                                           \
        struct signal_action action_ = {.handler = (function),                                     \
                                        .flags = 0x04000004ul | (extra_flags),                     \
                                        .restorer = __restore_rt};                                 \
        (void)CALL4(SYS_rt_sigaction, number, &action_, 0, 8);                                     \
    } while (0)

#define raise_signal(number) ((void)CALL2(SYS_kill, CALL0(SYS_getpid), number))

/* ---- setjmp: rbx, rbp, r12-r15, rsp, rip ---- */
typedef word jump_point[8];
__attribute__((returns_twice)) int set_jump(jump_point point);
__attribute__((noreturn)) void long_jump(jump_point point, int value);
__asm__(".globl set_jump\n.type set_jump, @function\n"
        "set_jump: mov %rbx, (%rdi)\n"
        "    mov %rbp, 8(%rdi)\n"
        "    mov %r12, 16(%rdi)\n"
        "    mov %r13, 24(%rdi)\n"
        "    mov %r14, 32(%rdi)\n"
        "    mov %r15, 40(%rdi)\n"
        "    lea 8(%rsp), %rdx\n"
        "    mov %rdx, 48(%rdi)\n"
        "    mov (%rsp), %rdx\n"
        "    mov %rdx, 56(%rdi)\n"
        "    xor %eax, %eax\n"
        "    ret\n"
        ".size set_jump, . - set_jump\n"
        ".globl long_jump\n.type long_jump, @function\n"
        "long_jump: mov %esi, %eax\n"
        "    mov (%rdi), %rbx\n"
        "    mov 8(%rdi), %rbp\n"
        "    mov 16(%rdi), %r12\n"
        "    mov 24(%rdi), %r13\n"
        "    mov 32(%rdi), %r14\n"
        "    mov 40(%rdi), %r15\n"
        "    mov 48(%rdi), %rsp\n"
        "    jmp *56(%rdi)\n"
        ".size long_jump, . - long_jump\n");

/* ---- coroutines: rbx, rbp, r12-r15, rsp ---- */
struct coroutine {
    word registers[7];
};
/* Leaves the running stack in `from` and goes on with the one in `to`. */
void switch_stack(struct coroutine *from, struct coroutine *to);
__asm__(".globl switch_stack\n.type switch_stack, @function\n"
        "switch_stack: mov %rbx, (%rdi)\n"
        "    mov %rbp, 8(%rdi)\n"
        "    mov %r12, 16(%rdi)\n"
        "    mov %r13, 24(%rdi)\n"
        "    mov %r14, 32(%rdi)\n"
        "    mov %r15, 40(%rdi)\n"
        "    mov %rsp, 48(%rdi)\n"
        "    mov (%rsi), %rbx\n"
        "    mov 8(%rsi), %rbp\n"
        "    mov 16(%rsi), %r12\n"
        "    mov 24(%rsi), %r13\n"
        "    mov 32(%rsi), %r14\n"
        "    mov 40(%rsi), %r15\n"
        "    mov 48(%rsi), %rsp\n"
        "    ret\n"
        ".size switch_stack, . - switch_stack\n");

/* `body` will run on the stack that ends at `top`; it must never return. */
#define prepare_coroutine(coroutine, top, body)                                                    \
    do {                                                                                           \
        word *end_ = (word *)((word)(top) & ~15ul);                                                \
        *--end_ = 0; /* where a caller's return address would be: none */                          \
        *--end_ = (word)(body);                                                                    \
        (coroutine)->registers[1] = 0;                                                             \
        (coroutine)->registers[6] = (word)end_;                                                    \
    } while (0)

/* ---- threads ---- */
/* A thread that runs `body` on the stack that ends at `top`, and ends with it. Its path begins in
 * spawn_thread, where it came to be. */
word spawn_thread(void (*body)(void), void *top);
__asm__(".globl spawn_thread\n.type spawn_thread, @function\n"
        "spawn_thread: mov %rdi, %r9\n"
        "    mov $0x50f00, %edi\n" /* memory, files, handlers and process in common */
        "    sub $16, %rsi\n"
        "    movq $0, (%rsi)\n" /* no return address: the path ends here */
        "    mov $56, %eax\n"
        "    syscall\n"
        "    test %eax, %eax\n"
        "    jz 1f\n"
        "    ret\n"
        "1:  xor %ebp, %ebp\n"
        "    call *%r9\n"
        "    xor %edi, %edi\n"
        "    mov $60, %eax\n"
        "    syscall\n"
        ".size spawn_thread, . - spawn_thread\n");

#endif
