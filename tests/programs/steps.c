/*
 * steps FILE: allocates 1,000 blocks of 100 bytes, waits until FILE exists, allocates 500 more,
 * frees all, says "done".
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *blocks[1500];

static __attribute__((noinline)) void step(int from, int to)
{
    for (int i = from; i < to; i++)
        blocks[i] = malloc(100);
}

int main(int argc, char **argv)
{
    (void)argc;
    step(0, 1000);
    while (access(argv[1], F_OK) != 0)
        usleep(1000);
    step(1000, 1500);
    for (int i = 0; i < 1500; i++)
        free(blocks[i]);
    return write(1, "done\n", 5) == 5 ? 0 : 1;
}
