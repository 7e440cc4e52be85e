/*
 * What every format of `tidemark export` is asked about: blocks that stay, a peak that is freed, temporary
 * ones, several sizes at one place, a chain of inlined calls, realloc, a second thread, marks.
 */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

static void *volatile kept[100], *volatile high[10], *volatile sized[50];

SITE static void keep(void)
{
    for (int i = 0; i < 100; i++)
        kept[i] = malloc(1000);
}

SITE static void rise(void)
{
    for (int i = 0; i < 10; i++)
        high[i] = malloc(50000 + 8 * (size_t)i);
}

SITE static void fall(void)
{
    for (int i = 0; i < 10; i++)
        free(high[i]);
}

SITE static void churn(void)
{
    for (int i = 0; i < 1000; i++) {
        known_sink = malloc(64);
        free(known_sink);
    }
}

/* Allocated and freed two at a time: freed soon, but not temporary. */
SITE static void pairs(void)
{
    for (int i = 0; i < 100; i++) {
        void *a = malloc(300), *b = malloc(500);
        known_sink = a;
        free(a);
        known_sink = b;
        free(b);
    }
}

/* 50 blocks of 100 to 149 bytes, of which every second one is freed. */
SITE static void sizes(void)
{
    for (size_t i = 0; i < 50; i++)
        sized[i] = malloc(100 + i);
    for (int i = 0; i < 50; i += 2)
        free(sized[i]);
}

static inline __attribute__((always_inline)) void *inner(size_t size)
{
    return malloc(size);
}

static inline __attribute__((always_inline)) void *middle(size_t size)
{
    return inner(size + 1);
}

SITE static void outer(void)
{
    known_sink = middle(2046);
}

SITE static void *recurse(int depth)
{
    return depth ? recurse(depth - 1) : malloc(777);
}

SITE static void grow(void)
{
    char *array = NULL;
    for (size_t size = 16; size <= 4096; size *= 2)
        array = realloc(array, size);
    known_sink = array;
}

SITE static void in_thread(void)
{
    for (int i = 0; i < 7; i++)
        known_sink = malloc(333);
}

#ifdef LONG_NAME
SITE static void LONG_NAME(void)
{
    known_sink = malloc(12345);
}
#endif

static void *worker(void *unused)
{
    tide_thread_name("work;er \"1\" <b>");
    in_thread();
    return unused;
}

int main(void)
{
    pthread_t thread;

    tide_mark("begin");
    keep();
    rise();
    tide_mark_value("high", "blocks", 110);
    fall();
    churn();
    pairs();
    tide_mark("low \"&<b>");
    sizes();
    outer();
    known_sink = recurse(3);
    grow();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
#ifdef LONG_NAME
    LONG_NAME();
#endif
    tide_mark("done");
    return 0;
}
