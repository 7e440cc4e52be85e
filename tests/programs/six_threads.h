/* For programs with six threads at once, each of which keeps 100 blocks of 32 bytes. */
#ifndef SIX_THREADS_H
#define SIX_THREADS_H

#include "known.h"

static pthread_barrier_t all_here;

SITE static void *in_threads(void *unused)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(32);
    pthread_barrier_wait(&all_here);
    return unused;
}

static void run_six_threads(void)
{
    pthread_barrier_init(&all_here, NULL, 6);
    known_run(6, in_threads);
}

#endif
