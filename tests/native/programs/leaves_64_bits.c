/* leaves_64_bits.c: a 32-bit system call, or a far jump. */
#include <stdint.h>

int main(int argc, char **argv)
{
    struct {
        uint32_t offset;
        uint16_t segment;
    } __attribute__((packed)) there = {0, 0x23};
    if (argc > 1 && argv[1][0] == 'i')
        __asm__ volatile("mov $20, %%eax; int $0x80" : : : "rax");
    else
        __asm__ volatile("ljmp *%0" : : "m"(there));
    return 0;
}
