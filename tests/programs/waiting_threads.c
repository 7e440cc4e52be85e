/*
 * waiting_threads HOW: three threads keep 10 blocks of 100 bytes each, then 20 more, and wait for
 * ever. The main thread then ends the process: by return, _exit or SIGKILL.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

#define THREADS 3

static void *volatile blocks[THREADS][30];
static pthread_barrier_t all;

SITE static void keep(int thread, int from, int to)
{
    for (int i = from; i < to; i++)
        blocks[thread][i] = malloc(100);
}

static void *work(void *thread)
{
    keep((int)(size_t)thread, 0, 10);
    pthread_barrier_wait(&all);
    keep((int)(size_t)thread, 10, 30);
    pthread_barrier_wait(&all);
    pause();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t id;
    (void)argc;
    pthread_barrier_init(&all, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&id, NULL, work, (void *)i))
            abort();
    pthread_barrier_wait(&all);
    pthread_barrier_wait(&all);
    if (strcmp(argv[1], "_exit") == 0)
        _exit(0);
    if (strcmp(argv[1], "kill") == 0)
        kill(getpid(), SIGKILL);
    return 0;
}
