/*
 * works_at_exit: a thread keeps three blocks. When the program ends, a handler frees them, and the
 * thread then allocates two more with the same call stack.
 */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"

static char *kept[5];
static pthread_barrier_t asked, done;

SITE static char *keep(void)
{
    return malloc(1000);
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5; i++) {
        if (i == 3) {
            pthread_barrier_wait(&done);
            pthread_barrier_wait(&asked);
        }
        kept[i] = keep();
    }
    pthread_barrier_wait(&done);
    return NULL;
}

static void at_exit(void)
{
    for (int i = 0; i < 3; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
    pthread_barrier_wait(&asked);
    pthread_barrier_wait(&done);
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    pthread_barrier_init(&asked, NULL, 2);
    pthread_barrier_init(&done, NULL, 2);
    pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&done);
    return 0;
}
