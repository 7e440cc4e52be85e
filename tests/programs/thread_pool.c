/* A library with threads that wait, and one that allocates all the time, until the process ends. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *wait_for_work(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return unused;
}

static void *work(void *unused)
{
    for (;;) {
        void *volatile block = malloc(100);
        free(block);
    }
    return unused;
}

void pool_start(int threads);
void pool_start(int threads)
{
    pthread_t id;
    for (int i = 0; i < threads; i++)
        pthread_create(&id, NULL, i ? wait_for_work : work, NULL);
}
