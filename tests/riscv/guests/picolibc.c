/* What a program asks of a small C library: formatting, memory, files, arguments, an exit status. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

__attribute__((noipa)) static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int count, char **arguments)
{
    int numbers[] = {5, 3, 9, 1};
    char line[32] = "";

    qsort(numbers, 4, sizeof *numbers, compare);
    printf("%d %d %x %s\n", numbers[0], fib(12), 48879, count > 1 ? arguments[1] : "-");
    printf("%.3f\n", sqrt(2.0) * fib(5));
    char *text = malloc(1000);
    if (!text)
        return 1;
    memset(text, 'a', 999);
    text[999] = '\0';
    printf("%zu\n", strlen(text));
    free(text);
    FILE *file = fopen("written.txt", "w");
    if (file) {
        fprintf(file, "line %d\n", 42);
        fclose(file);
        file = fopen("written.txt", "r");
        fgets(line, sizeof line, file);
        fseek(file, 0, SEEK_END);
        printf("%s%ld\n", line, ftell(file));
        fclose(file);
        unlink("written.txt");
    }
    return 7;
}
