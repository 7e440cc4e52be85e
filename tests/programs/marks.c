/*
 * marks EVENTS: a job of EVENTS events. Each keeps one block of 100 bytes and makes 10 temporary
 * ones of 50, then marks its end, with a value. Every tenth is followed by a mark "ten". A second
 * thread allocates one block of 7 bytes between its own two marks.
 */
#include <pthread.h>
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

SITE static void kept(void)
{
    known_sink = malloc(100);
}

SITE static void temporary(void)
{
    known_sink = malloc(50);
    free(known_sink);
}

SITE static void beside(void)
{
    known_sink = malloc(7);
}

static void *second(void *unused)
{
    tide_thread_name("second");
    tide_mark("before second");
    beside();
    tide_mark("after second");
    return unused;
}

int main(int argc, char **argv)
{
    int events = argc > 1 ? atoi(argv[1]) : 100;
    pthread_t thread;

    for (int i = 1; i <= events; i++) {
        kept();
        for (int k = 0; k < 10; k++)
            temporary();
        tide_mark_value("event", "number", i);
        if (i % 10 == 0)
            tide_mark("ten");
    }
    pthread_create(&thread, NULL, second, NULL);
    pthread_join(thread, NULL);
    tide_pause();
    kept(); /* unseen */
    free(known_sink);
    void *known = malloc(3);
    tide_resume();
    free(known);
    return tide_active() ? 0 : 4;
}
