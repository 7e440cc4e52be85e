/*
 * churns SHORT: eight named threads wait while SHORT others come and go one after the other, and
 * end in another order than they began in. Prints for each of the eight its name and how long it
 * waited, in microseconds, as seen from inside.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LASTING 8

static sem_t go[LASTING];
static long waited_us[LASTING];

static long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *last(void *number)
{
    int i = *(int *)number;
    char name[16];

    snprintf(name, sizeof name, "lasting-%d", i);
    pthread_setname_np(pthread_self(), name);
    long before = now_us();
    while (sem_wait(&go[i]) != 0)
        ;
    waited_us[i] = now_us() - before;
    return NULL;
}

static void *pass(void *unused)
{
    return unused;
}

static void come_and_go(int count)
{
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pass, NULL))
            exit(1);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int order[LASTING] = {3, 0, 7, 5, 1, 6, 2, 4}, numbers[LASTING], count = atoi(argv[argc - 1]);
    pthread_t threads[LASTING];

    for (int i = 0; i < LASTING; i++) {
        numbers[i] = i;
        sem_init(&go[i], 0, 0);
        if (pthread_create(&threads[i], NULL, last, &numbers[i]))
            return 1;
        come_and_go(count / LASTING / 2);
    }
    for (int i = 0; i < LASTING; i++) {
        come_and_go(count / LASTING / 2);
        sem_post(&go[order[i]]);
        pthread_join(threads[order[i]], NULL);
    }
    for (int i = 0; i < LASTING; i++)
        printf("lasting-%d %ld\n", i, waited_us[i]);
    return 0;
}
