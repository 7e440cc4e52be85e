/*
 * handover THREADS: each thread allocates BLOCKS blocks and hands every one to its neighbour, which
 * frees it; each leaks 10 blocks of its own, of 100 bytes times its number from 1, and names itself
 * "giver-N".
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "known.h"

enum { BLOCKS = 20000, SLOTS = 64 };

static int threads;
static _Atomic(void *) slots[KNOWN_MAX_THREADS][SLOTS];

SITE static void *give(int i)
{
    return malloc((size_t)(16 + i % 512));
}

SITE static void leak_some(int self)
{
    for (int i = 0; i < 10; i++)
        known_sink = malloc((size_t)(100 * (self + 1)));
}

/* Frees the neighbour's block in this slot; false when there is none yet. */
SITE static int take(int self, int slot)
{
    void *block = atomic_exchange(&slots[(self + 1) % threads][slot], NULL);

    free(block);
    return block != NULL;
}

SITE static void *work(void *argument)
{
    int self = (int)(intptr_t)argument, given = 0, taken = 0;
    char name[] = "giver-0";

    name[6] = (char)('0' + self);
    pthread_setname_np(pthread_self(), name);
    leak_some(self);
    while (given < BLOCKS || taken < BLOCKS) {
        int idle = 1;

        if (given < BLOCKS && !atomic_load(&slots[self][given % SLOTS])) {
            atomic_store(&slots[self][given % SLOTS], give(given));
            given++;
            idle = 0;
        }
        if (taken < BLOCKS && take(self, taken % SLOTS)) {
            taken++;
            idle = 0;
        }
        if (idle)
            sched_yield();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t ids[KNOWN_MAX_THREADS];

    threads = known_argument(argc, argv, 1, 4);
    for (intptr_t i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, work, (void *)i))
            abort();
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    return 0;
}
