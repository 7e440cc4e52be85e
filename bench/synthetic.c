/*
 * synthetic DEPTH THREADS STACKS LIVE PAIRS: pairs of malloc and free at the end of a chain of
 * calls.
 *
 * Each of THREADS threads makes PAIRS pairs below DEPTH calls, by one of STACKS different paths,
 * with LIVE blocks (of all threads together) alive meanwhile. With live blocks, each pair frees an
 * old block in random order and leaves a new one; without, it frees its own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS_PER_DESCENT = 4, MAX_THREADS = 64 };

static int depth, thread_count;
static long stack_count, live_count, pair_count;

struct worker {
    pthread_t id;
    uint64_t random;
    void **live;
    long live_count;
};

static uint64_t next_random(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static __attribute__((noinline)) void pair(struct worker *w)
{
    uint64_t random = next_random(w);
    void *volatile block = malloc(16 + random % 240);

    if (w->live_count) {
        void **slot = &w->live[(random >> 8) % (uint64_t)w->live_count];
        void *old = *slot;

        *slot = block;
        block = old;
    }
    free(block);
}

/* Two calls from two places: each bit of the path chooses one, so that the path is seen in the
 * return addresses. */
static __attribute__((noinline)) int descend(struct worker *w, int left, uint64_t path)
{
    if (left <= 0) {
        for (int i = 0; i < PAIRS_PER_DESCENT; i++)
            pair(w);
        return 1;
    }
    if (path & 1)
        return descend(w, left - 1, path >> 1) + 1;
    return descend(w, left - 1, path >> 1) + 2;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    volatile int sum = 0;

    for (long i = 0; i < w->live_count; i++)
        w->live[i] = malloc(16 + (size_t)(next_random(w) % 240));
    for (long i = 0; i < pair_count; i += PAIRS_PER_DESCENT) {
        uint64_t path = stack_count > 1 ? next_random(w) % (uint64_t)stack_count : 0;
        sum += descend(w, depth - 3, path); /* main or clone, work and pair are the other three */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];

    if (argc != 6) {
        fprintf(stderr, "usage: synthetic DEPTH THREADS STACKS LIVE PAIRS\n");
        return 2;
    }
    depth = atoi(argv[1]);
    thread_count = atoi(argv[2]);
    stack_count = atol(argv[3]);
    live_count = atol(argv[4]);
    pair_count = atol(argv[5]);
    if (thread_count < 1 || thread_count > MAX_THREADS)
        return 2;
    for (int i = 0; i < thread_count; i++) {
        struct worker *w = &workers[i];

        w->random = 88172645463325252u + (uint64_t)i;
        w->live_count = live_count / thread_count;
        w->live = calloc((size_t)w->live_count + 1, sizeof(*w->live));
        if (i > 0 && pthread_create(&w->id, NULL, work, w))
            return 1;
    }
    work(&workers[0]);
    for (int i = 1; i < thread_count; i++)
        pthread_join(workers[i].id, NULL);
    return 0;
}
