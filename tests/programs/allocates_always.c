/* allocates_always THREADS: each thread allocates and frees all the time, until it is killed. 0: the
 * first one alone. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 200
#define PAUSE  3000 /* allocations between naps, so that others may run too */

static void *work(void *argument)
{
    unsigned seed = (unsigned)(long)argument + 1;
    char *blocks[BLOCKS] = {0};
    for (unsigned n = 1;; n++) {
        seed = seed * 1664525 + 1013904223;
        char **at = &blocks[(seed >> 8) % BLOCKS];
        size_t size = 16 + (seed >> 16) % 2000;
        if (*at) {
            free(*at);
            *at = NULL;
        } else {
            *at = seed >> 30 == 0   ? malloc(size)
                  : seed >> 30 == 1 ? calloc(1, size)
                                    : realloc(malloc(8), size);
            memset(*at, 1, 16);
        }
        if (n % PAUSE == 0)
            usleep(2000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 8;
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)i))
            return 1;
    }
    if (!threads)
        work(NULL);
    pause();
    return 0;
}
