/* Ends by abort, after something is printed. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    puts("before");
    fflush(stdout);
    abort();
}
