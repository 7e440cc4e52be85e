/*
 * elsewhere: two marks, 20 ms apart, a second thread, and a child that frees 10 blocks which it
 * inherited. Ends with 5, the child with 3.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"
#include "tidemark.h"

SITE static void before(void)
{
    for (int i = 0; i < 100; i++)
        known_sink = malloc(64);
}

/* Asking for figures waits until the collector knows the thread. */
SITE static void *in_thread(void *unused)
{
    struct tide_heap heap;
    for (int i = 0; i < 20; i++)
        known_sink = malloc(48);
    tide_figures(&heap, 0);
    return unused;
}

SITE static void in_child(void *const *inherited)
{
    for (int i = 0; i < 10; i++)
        free(inherited[i]);
    for (int i = 0; i < 5; i++)
        known_sink = malloc(32);
}

int main(void)
{
    const struct timespec apart = {0, 20000000};
    void *blocks[10];
    pthread_t thread;
    int status;

    before();
    for (int i = 0; i < 10; i++)
        blocks[i] = malloc(1000);
    tide_mark("step");
    nanosleep(&apart, NULL);
    tide_mark("step");
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        in_child(blocks);
        return 3;
    }
    wait(&status);
    return 5;
}
