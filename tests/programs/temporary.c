/* A temporary block is freed by the thread that allocated it, with no other allocation of that
 * thread between. */
#include "known.h"

SITE static void at_once(void)
{
    for (int i = 0; i < 1000; i++) {
        void *block = malloc(32);

        known_sink = block;
        free(block);
    }
}

/* The inner block of each pair is temporary, the outer one is not. */
SITE static void nested(void)
{
    for (int i = 0; i < 100; i++) {
        void *outer = malloc(64);

        known_sink = outer;
        void *inner = malloc(48);

        known_sink = inner;
        free(inner);
        free(outer);
    }
}

/* Frees between do not matter, only allocations do. */
SITE static void with_frees_between(void)
{
    for (int i = 0; i < 10; i++) {
        void *old = malloc(80);

        known_sink = old;
        void *block = malloc(96);

        known_sink = block;
        free(old);
        free(block);
    }
}

SITE static void *free_it(void *block)
{
    free(block);
    return NULL;
}

/* Freed by another thread: not temporary. */
SITE static void freed_elsewhere(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *block = malloc(128);

        if (pthread_create(&thread, NULL, free_it, block))
            abort();
        pthread_join(thread, NULL);
    }
}

int main(void)
{
    at_once();
    nested();
    with_frees_between();
    freed_elsewhere();
    return 0;
}
