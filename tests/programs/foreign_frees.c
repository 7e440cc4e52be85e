/*
 * foreign_frees THREADS: threads f0 to fN-1 that free each other's blocks, all at the same time.
 *
 * Thread i allocates 100 blocks of 100 * (i + 1) bytes. Then, of the thread k places further on
 * (k from 0 to 59, so some are its own), it frees block k, in two halves with a mark "half"
 * between. Of its right neighbour it reallocates blocks 60 to 69 to one byte more, and frees
 * the results; tries to reallocate blocks 70 to 79, which fails; and leaves the rest.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidemark.h"

enum { BLOCKS = 100, FREED = 60, GROWN = 70, TRIED = 80 };

#include "neighbours.h"

static volatile size_t too_much = SIZE_MAX / 4;

static void free_some(unsigned i, unsigned from, unsigned to)
{
    for (unsigned k = from; k < to; k++)
        free(blocks[(i + k) % count][k]);
}

SITE static void *grow(void *block, size_t size)
{
    return realloc(block, size);
}

static void *work(void *argument)
{
    unsigned i = (unsigned)(size_t)argument, right = (i + 1) % count;
    char name[16];
    snprintf(name, sizeof name, "f%u", i);
    pthread_setname_np(pthread_self(), name);
    for (unsigned k = 0; k < BLOCKS; k++)
        blocks[i][k] = malloc(100 * (i + 1));
    pthread_barrier_wait(&barrier);
    free_some(i, 0, FREED / 2);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        tide_mark("half");
    pthread_barrier_wait(&barrier);
    free_some(i, FREED / 2, FREED);
    for (unsigned k = FREED; k < GROWN; k++) {
        void *volatile grown = grow(blocks[right][k], 100 * (right + 1) + 1);
        free(grown);
    }
    for (unsigned k = GROWN; k < TRIED; k++)
        if (grow(blocks[right][k], too_much))
            exit(3);
    return NULL;
}

int main(int argc, char **argv)
{
    return run_neighbours(argc, argv, work);
}
