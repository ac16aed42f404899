/* Maps pages at round addresses, whatever is there: alone, nothing is. */
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
    for (unsigned long address = 0x10000000; address < 0x60000000; address += 0x10000000) {
        volatile int *page = mmap((void *)address, 4096, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        *page = address >> 28;
        printf("%lx: %d\n", address, *page);
    }
    return 0;
}
