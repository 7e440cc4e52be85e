/* One thread allocates 100 blocks of 1,000 bytes, another one frees them when the first is gone. */
#include <pthread.h>
#include <stdlib.h>

static void *blocks[100];

__attribute__((noinline)) static void *make_block(void)
{
    return malloc(1000);
}

static void *allocate_all(void *arg)
{
    for (unsigned i = 0; i < 100; i++)
        blocks[i] = make_block();
    return arg;
}

static void *free_all(void *arg)
{
    for (unsigned i = 0; i < 100; i++)
        free(blocks[i]);
    return arg;
}

int main(void)
{
    void *(*turns[])(void *) = {allocate_all, free_all};
    for (unsigned i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, turns[i], NULL) || pthread_join(thread, NULL))
            return 1;
    }
    return 0;
}
