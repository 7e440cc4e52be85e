/*
 * spread THREADS: blocks of known sizes and lifetimes. Marks before and after the sleep make the
 * shortest lifetime that a block can be given exact.
 */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

enum { LONG_LIVED = 40, NEVER = 30, SHORT = 500, THREADS_MAX = 64 };

struct worker {
    pthread_t id;
    void *kept[LONG_LIVED], *grown;
};

/* One block of each size: 0, 1, 2, 3, 4, 7, 8, 15, 16, 1000, 1023, 1024, 100000. */
SITE static void many_sizes(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 1000, 1023, 1024, 100000};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *volatile block = malloc(sizes[i]);
        free(block);
    }
}

/* All in one bucket, of two sizes. */
SITE static void one_bucket(void)
{
    for (int i = 0; i < SHORT; i++) {
        void *volatile block = malloc(i % 2 ? 33 : 63);
        free(block);
    }
}

SITE static void long_lived(struct worker *w)
{
    for (int i = 0; i < LONG_LIVED; i++)
        w->kept[i] = malloc(200);
}

SITE static void never_freed(void)
{
    for (int i = 0; i < NEVER; i++)
        known_sink = malloc(48);
}

SITE static void grows(struct worker *w)
{
    w->grown = realloc(w->grown, w->grown ? 5000 : 600);
}

/* The first half of a life. */
static void *begin(void *arg)
{
    struct worker *w = arg;
    many_sizes();
    one_bucket();
    long_lived(w);
    never_freed();
    grows(w);
    return NULL;
}

/* A failed realloc ends no life. */
SITE static void fails(struct worker *w)
{
    volatile size_t impossible = PTRDIFF_MAX - 4096;
    if (realloc(w->kept[0], impossible))
        _exit(9);
}

static void *end(void *arg)
{
    struct worker *w = arg;
    fails(w);
    grows(w);
    for (int i = 0; i < LONG_LIVED; i++)
        free(w->kept[i]);
    return NULL;
}

static struct worker workers[THREADS_MAX];

static void in_threads(int threads, void *(*part)(void *))
{
    if (threads == 1) {
        part(&workers[0]);
        return;
    }
    for (int i = 0; i < threads; i++)
        if (pthread_create(&workers[i].id, NULL, part, &workers[i]))
            _exit(8);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i].id, NULL);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    in_threads(threads, begin);
    tide_mark("slept");
    usleep(150000);
    tide_mark("woke");
    in_threads(threads, end);
    return 0;
}
