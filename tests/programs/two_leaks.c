/* 50 marks "event"; between them the main thread loses 1,000 bytes and a thread named second 3,000. */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

SITE static void small(void)
{
    known_sink = malloc(1000);
    known_sink = NULL;
}

SITE static void large(void)
{
    known_sink = malloc(3000);
    known_sink = NULL;
}

static void *second(void *unused)
{
    tide_thread_name("second");
    large();
    return unused;
}

int main(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        small();
        pthread_create(&thread, NULL, second, NULL);
        pthread_join(thread, NULL);
        tide_mark("event");
    }
    return 0;
}
