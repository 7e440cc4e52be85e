/* Two threads that rise and fall in turn, with a mark at every turn: climber to 300, 100 and 200
 * KiB, walker once to 50 KiB. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "tidemark.h"

#define KIB 1024

static void pause_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static __attribute__((noinline)) void *pile_up(size_t kib)
{
    return malloc(kib * KIB);
}

static void climb(size_t kib)
{
    void *stones[300];
    size_t n = kib / 10;
    for (size_t i = 0; i < n; i++)
        stones[i] = pile_up(10);
    tide_mark("top");
    pause_ms(3);
    for (size_t i = 0; i < n; i++)
        free(stones[i]);
    tide_mark("foot");
    pause_ms(3);
}

static void *climber(void *none)
{
    pthread_setname_np(pthread_self(), "climber");
    climb(300);
    climb(100);
    climb(200);
    return none;
}

static void *walker(void *none)
{
    pthread_setname_np(pthread_self(), "walker");
    climb(50);
    return none;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, climber, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, walker, NULL);
    pthread_join(thread, NULL);
    return 0;
}
