/*
 * Threads that are cancelled. cancelled deferred: 50 threads allocate 10 blocks and wait; their
 * cleanup handler allocates one more. cancelled asynchronous: 50 threads allocate 10 blocks, become
 * cancellable at any instruction and run in a circle.
 */
#include <semaphore.h>
#include <unistd.h>

#include "known.h"

enum { THREADS = 50 };

static sem_t ready;
static int asynchronous;

SITE static void before(void)
{
    known_sink = malloc(21);
}

SITE static void in_cleanup(void *unused)
{
    (void)unused;
    known_sink = malloc(22);
}

SITE static void *work(void *unused)
{
    pthread_cleanup_push(in_cleanup, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    for (int i = 0; i < 10; i++)
        before();
    sem_post(&ready);
    if (asynchronous) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
        for (;;)
            known_sink = NULL;
    }
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return unused;
}

int main(int argc, char **argv)
{
    asynchronous = argc > 1 && argv[1][0] == 'a';
    sem_init(&ready, 0, 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t id;
        void *result;
        if (pthread_create(&id, NULL, work, NULL))
            return 3;
        sem_wait(&ready);
        pthread_cancel(id);
        pthread_join(id, &result);
        if (result != PTHREAD_CANCELED)
            return 4;
    }
    return 0;
}
