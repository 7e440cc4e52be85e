/*
 * Three functions at 60, 30 and 10 % of the work, counted in rounds of the same work, in one or
 * more threads:  shares THREADS ROUNDS [GO]
 *
 * With GO it says "half" when it has done so, waits until the file GO is there, and does it again.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static long rounds;

/* Identical code in each of the three, so that a round takes equally long. */
#define WORK(state)                                                                                \
    for (int i = 0; i < 200; i++) {                                                                \
        (state) ^= (state) << 13;                                                                  \
        (state) ^= (state) >> 7;                                                                   \
        (state) ^= (state) << 17;                                                                  \
    }

NOINLINE static uint64_t six(uint64_t state)
{
    for (int k = 0; k < 6; k++)
        WORK(state)
    return state;
}

NOINLINE static uint64_t three(uint64_t state)
{
    for (int k = 0; k < 3; k++)
        WORK(state)
    return state;
}

NOINLINE static uint64_t one(uint64_t state)
{
    for (int k = 0; k < 1; k++)
        WORK(state)
    return state;
}

NOINLINE static void *work(void *unused)
{
    volatile uint64_t state = 88172645463325252u;
    for (long i = 0; i < rounds; i++) {
        state = six(state);
        state = three(state);
        state = one(state);
    }
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    rounds = argc > 2 ? atol(argv[2]) : 100000;
    pthread_t others[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, work, NULL);
    work(NULL);
    if (argc > 3) {
        puts("half");
        fflush(stdout);
        while (access(argv[3], F_OK) != 0)
            usleep(1000);
        work(NULL);
    }
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    printf("%ld\n", u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec);
    return 0;
}
