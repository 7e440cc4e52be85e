/* A thread of a pool, which has the name of what it works on; each name leaks sizes of its own. */
#define _GNU_SOURCE
#include <stdio.h>

#include "known.h"

SITE static void leak(size_t size)
{
    known_sink = malloc(size);
}

static void *works(void *unused)
{
    leak(1); /* before it has a name */
    pthread_setname_np(pthread_self(), "reading");
    leak(1000);
    pthread_setname_np(pthread_self(), "fitting");
    leak(2000);
    pthread_setname_np(pthread_self(), "writing");
    leak(4000);
    pthread_setname_np(pthread_self(), "reading");
    leak(8000);
    return unused;
}

/* More names than are told apart. */
static void *takes_many(void *unused)
{
    char name[16];
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "job-%d", i);
        pthread_setname_np(pthread_self(), name);
        leak(16);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (pthread_create(&thread, NULL, argc > 1 ? takes_many : works, NULL))
        abort();
    pthread_join(thread, NULL);
    leak(5000);
    return 0;
}
