/* many_arrays COUNT: so many arrays grow in turn, by realloc, from 16 to 2,048 bytes. Prints the number of
 * growths. */
#include <stdio.h>
#include <stdlib.h>

#include "known.h"

static void *arrays[10000];

SITE static void grow_all(int count, size_t size)
{
    for (int i = 0; i < count; i++)
        arrays[i] = realloc(arrays[i], size);
}

int main(int argc, char **argv)
{
    int count = known_argument(argc, argv, 1, 1000), growths = 0;
    for (int i = 0; i < count; i++)
        arrays[i] = malloc(16);
    for (size_t size = 32; size <= 2048; size *= 2) {
        grow_all(count, size);
        growths += count;
    }
    for (int i = 0; i < count; i++)
        free(arrays[i]);
    printf("%d\n", growths);
    return 0;
}
