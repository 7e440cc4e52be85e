/*
 * thread_pools: three pools of eight threads, one after the other, all threads named "pool". Thread
 * number n of all (from 1) leaks n blocks of 1,000 bytes. The last thread of each pool takes the
 * name "last" when it has leaked half of them. Prints the threads' ids in order of n.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "known.h"

enum { POOLS = 3, THREADS = 8 };

static pid_t ids[POOLS * THREADS + 1];

SITE static void leak(void)
{
    known_sink = malloc(1000);
}

static void *work(void *argument)
{
    size_t n = (size_t)argument;
    ids[n] = gettid();
    pthread_setname_np(pthread_self(), "pool");
    for (size_t i = 0; i < n; i++) {
        if (n % THREADS == 0 && i == n / 2)
            pthread_setname_np(pthread_self(), "last");
        leak();
    }
    return NULL;
}

int main(void)
{
    for (size_t pool = 0; pool < POOLS; pool++) {
        pthread_t threads[THREADS];
        for (size_t k = 0; k < THREADS; k++)
            if (pthread_create(&threads[k], NULL, work, (void *)(pool * THREADS + k + 1)))
                return 1;
        for (size_t k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
    }
    for (int n = 1; n <= POOLS * THREADS; n++)
        printf("%d\n", (int)ids[n]);
    return 0;
}
