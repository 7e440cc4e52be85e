/* For programs whose threads hand each other BLOCKS blocks, which is defined before this. */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include "numbered_threads.h"

static unsigned count;            /* threads */
static void *(*blocks)[BLOCKS];   /* of each thread */
static pthread_barrier_t barrier; /* of all threads */

/* The number of threads is the first argument, or 4. */
static inline int run_neighbours(int argc, char **argv, void *(*work)(void *))
{
    count = (unsigned)known_argument(argc, argv, 1, 4);
    blocks = calloc(count, sizeof *blocks);
    pthread_barrier_init(&barrier, NULL, count);
    run_numbered_threads(count, work);
    return 0;
}

#endif
