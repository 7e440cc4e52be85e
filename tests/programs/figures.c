/*
 * Asks for the figures of its own heap. Each line: what it is, then live bytes, live blocks, total
 * bytes, allocations and the peak, relative to what there was at the start.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidemark.h"

static struct tide_heap start;

static void tell(const char *what, int restart)
{
    struct tide_heap h;
    if (tide_figures(&h, restart)) {
        printf("%s none\n", what);
        return;
    }
    printf("%s %lld %lld %lld %lld %lld\n", what, (long long)(h.live_bytes - start.live_bytes),
           (long long)(h.live_blocks - start.live_blocks),
           (long long)(h.total_bytes - start.total_bytes),
           (long long)(h.allocations - start.allocations),
           (long long)(h.peak_bytes - start.live_bytes));
}

static char *volatile handed_over;

static void *other(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        char *volatile passing = malloc(100000);
        free(passing);
    }
    handed_over = malloc(300);
    return NULL;
}

static void *nothing(void *unused)
{
    return unused;
}

static void run(void *(*function)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, function, NULL);
    pthread_join(thread, NULL);
}

int main(void)
{
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer); /* so that stdio allocates nothing */
    run(nothing); /* what libc keeps of a thread is there from now on */
    tide_figures(&start, 1);
    tell("nothing", 0);
    char *volatile kept = malloc(1000);
    tell("kept", 0);
    char *volatile passing = malloc(50000);
    free(passing);
    tell("passing", 1);
    kept = realloc(kept, 3000);
    tell("larger", 0);
    tell("the same", 1);
    for (int i = 0; i < 100000; i++) {
        passing = malloc((size_t)i % 1000);
        free(passing);
    }
    tell("loop", 1);
    tide_mark("an interval ends");
    tell("interval", 0);
    passing = malloc(7000);
    free(passing);
    tide_mark("another one");
    tell("intervals", 1);
    free(kept);
    tell("freed", 0);
    tide_pause();
    kept = malloc(10);
    tell("paused", 0);
    free(kept);
    tide_resume();
    tell("resumed", 1);
    run(other);
    free(handed_over);
    tell("thread", 0);
    return 0;
}
