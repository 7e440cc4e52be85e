/* For programs whose threads are told from each other by a number. */
#ifndef NUMBERED_THREADS_H
#define NUMBERED_THREADS_H

#include "known.h"

/* Runs work(0) to work(count - 1), each in a thread of its own. */
static inline void run_numbered_threads(unsigned count, void *(*work)(void *))
{
    pthread_t *ids = calloc(count, sizeof *ids);
    for (unsigned i = 0; i < count; i++)
        pthread_create(&ids[i], NULL, work, (void *)(size_t)i);
    for (unsigned i = 0; i < count; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}

#endif
