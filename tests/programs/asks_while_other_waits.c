/*
 * One thread waits, the other asks tidemark for snapshots meanwhile, into FILE (with %I).
 * Prints how long the first one waited, in us.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tidemark.h"

#define BLOCKS    300000
#define SNAPSHOTS 20

static int ends[2];
static long waited_us;

__attribute__((noinline)) static void wait_for_other(void)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        abort();
    __asm__ volatile("" : : "r"(&byte) : "memory");
}

static void *waiter(void *unused)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    wait_for_other();
    clock_gettime(CLOCK_MONOTONIC, &b);
    waited_us = (b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000;
    return unused;
}

static void *volatile blocks[BLOCKS];

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2 || pipe(ends))
        return 2;
    for (int i = 0; i < BLOCKS; i++) /* so that each snapshot takes a while */
        blocks[i] = malloc(24);
    if (pthread_create(&thread, NULL, waiter, NULL))
        return 2;
    for (int i = 0; i < SNAPSHOTS; i++)
        if (tide_snapshot(argv[1]))
            return 3;
    if (write(ends[1], "x", 1) != 1 || pthread_join(thread, NULL))
        return 2;
    printf("%ld\n", waited_us);
    return 0;
}
