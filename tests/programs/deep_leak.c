/* deep_leak DEPTH: `wanted` calls itself so often down, and there 20 blocks of 1000 bytes are lost. */
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
    return down(n) + 1;
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
    return wipe();
}
