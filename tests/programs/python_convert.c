/* python_convert: a C function that a program in Python calls, and that forgets its buffer. */
#include <stdlib.h>
#include <string.h>

int convert(int size);

int convert(int size)
{
    char *buffer = malloc((size_t)size);
    if (!buffer)
        return -1;
    memset(buffer, 1, (size_t)size);
    return buffer[size / 2];
}
