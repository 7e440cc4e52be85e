/* deep_leak DEPTH: so many calls below `wanted`, 20 blocks of 1000 bytes are lost. It frees a block
 * of its own, and so does `other`. */
#include <stdlib.h>

#include "known.h"

static void *volatile kept;

SITE static int down(int n)
{
    if (n)
        return down(n - 1) + 1;
    for (int i = 0; i < 20; i++)
        kept = malloc(1000);
    kept = NULL;
    return 0;
}

SITE static int wanted(int n)
{
    known_sink = malloc(10);
    free(known_sink);
    return down(n) + 1;
}

SITE static void other(void)
{
    known_sink = malloc(20);
    free(known_sink);
}

SITE static int wipe(void)
{
    volatile char room[200000];
    for (int i = 0; i < 200000; i++)
        room[i] = 0;
    return room[5];
}

int main(int argc, char **argv)
{
    wanted(argc > 1 ? atoi(argv[1]) : 10);
    other();
    return wipe();
}
