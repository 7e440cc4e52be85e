/*
 * rank [MULTIPLE [thread]]: one rank of a job, by the environment variable RANK or that of Open MPI.
 * Rank R keeps R + 1 blocks of 1000 * MULTIPLE bytes (solve), one block of 4096 bytes in every rank
 * (set_up), loses 300 bytes if R is odd (lose), makes five temporary blocks of 64 bytes (churn), and
 * grows an array up to 64 KiB (grow), in a thread of its own if that is asked for. With KILL=R that
 * rank kills itself before it ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "known.h"

static void *volatile kept[64], *volatile large;

SITE static void solve(int i, size_t size)
{
    kept[i] = malloc(size);
}

SITE static void set_up(void)
{
    large = malloc(4096);
}

SITE static void lose(void)
{
    void *volatile lost = malloc(300);
    lost = NULL;
    (void)lost;
}

SITE static void churn(void)
{
    for (int i = 0; i < 5; i++) {
        void *volatile block = malloc(64);
        free(block);
    }
}

SITE static void *grow(void *unused)
{
    char *array = NULL;
    for (size_t size = 1024; size <= 65536; size *= 2)
        array = realloc(array, size);
    free(array);
    return unused;
}

static int number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int main(int argc, char **argv)
{
    int rank = number("RANK", number("OMPI_COMM_WORLD_RANK", 0));
    size_t multiple = argc > 1 ? (size_t)atoi(argv[1]) : 1;
    pthread_t worker;
    set_up();
    for (int i = 0; i <= rank && i < 64; i++)
        solve(i, 1000 * multiple);
    if (rank % 2)
        lose();
    churn();
    if (argc <= 2)
        grow(NULL);
    else if (pthread_create(&worker, NULL, grow, NULL) == 0)
        pthread_join(worker, NULL);
    if (number("KILL", -1) == rank)
        raise(SIGKILL);
    return 0;
}
