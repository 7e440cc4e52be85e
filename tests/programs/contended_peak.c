/* Eight threads that rise and fall together, 60 times, and exchange blocks at the top. They are
 * highest in round 40, with 100 blocks of 3000 bytes each; in all other rounds they have 90. */
#define _GNU_SOURCE
#include "numbered_threads.h"

enum { THREADS = 8, ROUNDS = 60, HIGHEST = 40, BLOCKS = 100, LESS = 10, SIZE = 3000 };

static pthread_barrier_t together;

SITE static void *hold(void)
{
    return malloc(SIZE);
}

static void *work(void *number)
{
    void *held[BLOCKS];
    (void)number;
    for (int round = 0; round < ROUNDS; round++) {
        int count = round == HIGHEST ? BLOCKS : BLOCKS - LESS;
        for (int i = 0; i < count; i++)
            held[i] = hold();
        pthread_barrier_wait(&together);
        for (int i = 0; i < count; i++) { /* never more than at the barrier */
            free(held[i]);
            held[i] = hold();
        }
        pthread_barrier_wait(&together);
        for (int i = 0; i < count; i++)
            free(held[i]);
        pthread_barrier_wait(&together);
    }
    return NULL;
}

int main(void)
{
    pthread_barrier_init(&together, NULL, THREADS);
    run_numbered_threads(THREADS, work);
    return 0;
}
