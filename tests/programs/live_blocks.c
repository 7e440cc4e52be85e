/*
 * live_blocks COUNT: that many blocks of 16 to 64 bytes, all of which are live when it ends. It
 * prints how many seconds it took to make them.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "known.h"

static void **list;

SITE static void *block(size_t size)
{
    return malloc(size);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int count = known_argument(argc, argv, 1, 1000000);
    double start = seconds();
    uint32_t state = 12345;

    for (int i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        void **b = block(16 + (state >> 28) * 3);
        *b = list;
        list = b;
    }
    fprintf(stderr, "%.3f s\n", seconds() - start);
    return 0;
}
