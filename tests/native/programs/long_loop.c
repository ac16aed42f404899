/* A block that runs more often than half a word can count. */
#include <stdint.h>

uint64_t turns(void); /* executes two instructions for each of them, and two more */

__asm__(".globl turns\n"
        ".type turns, @function\n"
        "turns:\n"
        "    mov $2200000000, %rax\n"
        "1:  sub $1, %rax\n"
        "    jnz 1b\n"
        "    ret\n"
        ".size turns, . - turns\n");

int main(void)
{
    return (int)turns();
}
