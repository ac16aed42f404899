/*
 * A library's tail call to a function that nothing names or describes: one begins there, though the one
 * before it, which was called, would reach that far. So does what ends the program, _fini.
 *
 * build: dynamic -fno-asynchronous-unwind-tables -Wl,-z,now
 * with: libthrough.so = through_library.c -O2
 * link: libthrough.so
 * stripped: yes
 * below main:
 *     main *
 *     main;first 2
 *     main;second 3
 *     main;through 1
 * paths:
 *     _dl_fini;_fini
 */
void through(void (*function)(void));
void first(void);
void second(void);

__asm__(".type first, @function\nfirst: nop\nret\n.size first, . - first\n"
        ".type second, @function\nsecond: nop\nnop\nret\n.size second, . - second\n");

int main(void)
{
    first();
    through(second);
    return 0;
}
