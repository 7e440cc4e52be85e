/* For programs that grow by threads: each works once, in an arena of its own, and stays. */
#ifndef STAYING_THREADS_H
#define STAYING_THREADS_H

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "filled.h"

enum { STAYING_BLOCKS = 1024 };

static pthread_barrier_t worked;
static size_t staying_blocks = STAYING_BLOCKS; /* how many each thread makes */

/* What a thread keeps was allocated last, so that its arena cannot give back the rest. */
static void *stays(void *kept)
{
    static __thread char *blocks[STAYING_BLOCKS];
    for (size_t i = 0; i < staying_blocks; i++)
        blocks[i] = FILLED(1000);
    *(char **)kept = FILLED(16);
    for (size_t i = 0; i < staying_blocks; i++)
        free(blocks[i]);
    pthread_barrier_wait(&worked);
    pause();
    return NULL;
}

/* Begins one more such thread, and waits until it has worked. */
static inline void start_staying_thread(char **kept)
{
    static int started;
    pthread_t thread;
    if (!started++) {
        pthread_barrier_init(&worked, NULL, 2);
        mallopt(M_ARENA_MAX, 2048); /* there are few on few processors */
    }
    if (pthread_create(&thread, NULL, stays, kept))
        abort();
    pthread_barrier_wait(&worked);
}

#endif
