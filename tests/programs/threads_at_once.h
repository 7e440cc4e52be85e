/* For programs with threads at once, each of which keeps 100 blocks of 32 bytes. */
#ifndef THREADS_AT_ONCE_H
#define THREADS_AT_ONCE_H

#include "known.h"

static pthread_barrier_t all_here;

SITE static void *in_threads(void *unused)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(32);
    pthread_barrier_wait(&all_here);
    return unused;
}

static void run_at_once(int threads)
{
    pthread_barrier_init(&all_here, NULL, (unsigned)threads);
    known_run(threads, in_threads);
}

#endif
