/*
 * For test programs whose every allocation is known. They print nothing and use no stdio, so that a
 * plain C program with one thread allocates exactly what its source says, and nothing else.
 */
#ifndef KNOWN_H
#define KNOWN_H

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* A function that keeps its name and its frame at any optimisation level. */
#ifdef __clang__
#define SITE __attribute__((noinline, disable_tail_calls))
#else
#define SITE __attribute__((noipa, optimize("no-optimize-sibling-calls")))
#endif

/*
 * A pointer stored here cannot be optimised away, nor can the call that made it. All threads share
 * it: what threads free they keep in a volatile variable of their own.
 */
static void *volatile known_sink __attribute__((unused));

enum { KNOWN_MAX_THREADS = 64 };

/* Runs work(NULL) in the main thread for one thread, in new threads for more. */
static inline void known_run(int threads, void *(*work)(void *))
{
    pthread_t ids[KNOWN_MAX_THREADS];

    if (threads == 1) {
        work(NULL);
        return;
    }
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, work, NULL))
            abort();
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
}

static inline int known_argument(int argc, char **argv, int which, int otherwise)
{
    return argc > which ? atoi(argv[which]) : otherwise;
}

#endif
