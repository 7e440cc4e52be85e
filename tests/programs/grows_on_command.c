/*
 * grows_on_command FILE SIZE...: for each SIZE, a number of MiB, waits until FILE.N exists (N
 * counts from 1), then allocates and touches that much, or if it is negative frees what it
 * allocated last. Then waits for one more, and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

static void await(const char *file, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", file, number);
    while (access(path, F_OK) != 0)
        usleep(1000);
}

SITE static char *grow(size_t bytes)
{
    char *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

int main(int argc, char **argv)
{
    char *blocks[64];
    int count = 0;
    for (int i = 2; i < argc; i++) {
        await(argv[1], i - 1);
        int mib = atoi(argv[i]);
        if (mib > 0)
            blocks[count++] = grow((size_t)mib << 20);
        else
            free(blocks[--count]);
    }
    await(argv[1], argc - 1);
    return 0;
}
