/* N threads, w0 to wN-1, that hand each other blocks: thread i allocates 100 blocks of 100 * (i +
 * 1) bytes, keeps the first ten, and frees the rest of its right neighbour. When all blocks are
 * there, one thread makes the mark "full". */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidemark.h"

#define BLOCKS 100
#define KEPT   10

#include "neighbours.h"

static void *work(void *argument)
{
    unsigned i = (unsigned)(size_t)argument;
    char name[16];
    snprintf(name, sizeof name, "w%u", i);
    pthread_setname_np(pthread_self(), name);
    for (int k = 0; k < BLOCKS; k++)
        blocks[i][k] = malloc(100 * (i + 1));
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        tide_mark("full");
    pthread_barrier_wait(&barrier);
    for (int k = KEPT; k < BLOCKS; k++)
        free(blocks[(i + 1) % count][k]);
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(int argc, char **argv)
{
    return run_neighbours(argc, argv, work);
}
