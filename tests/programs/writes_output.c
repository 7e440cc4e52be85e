/* Writes known text to stdout and stderr and copies stdin, so that what tidemark adds can be seen.
 */
#include <stdio.h>

int main(void)
{
    int c;

    fputs("one line for stdout\n", stdout);
    fputs("one line for stderr\n", stderr);
    while ((c = getchar()) != EOF)
        putchar(c);
    return 0;
}
