/*
 * late_ends HOW [ARGUMENT...]: 1,000 blocks of 64 bytes in before_end, then an end, or something
 * like one, that ends.c does not know.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "known.h"

SITE static void before_end(void)
{
    for (int i = 0; i < 1000; i++)
        known_sink = malloc(64);
}

SITE static void goes_on(void)
{
    for (int i = 0; i < 700; i++)
        known_sink = malloc(48);
}

SITE static void after_failure(void)
{
    for (int i = 0; i < 30; i++)
        known_sink = malloc(16);
}

SITE static void fault(void)
{
    volatile int *nowhere = known_sink; /* still NULL */

    before_end();
    *nowhere = 1;
}

/* Counts what it got in a file, whose contents outlive the process. */
SITE static void touch_without_end(volatile long *counted)
{
    for (;;) {
        char *p = malloc(1 << 20);

        *counted += 1;
        if (p)
            memset(p, 1, 1 << 20);
        known_sink = p;
    }
}

static pthread_t first;

/* Outlives the first thread, which has left by pthread_exit, for as long as its zombie shows. */
static void *outlives_the_first(void *unused)
{
    pthread_join(first, NULL);
    goes_on();
    usleep(50000);
    goes_on();
    return unused;
}

static void *leaves_last(void *unused)
{
    goes_on();
    pthread_exit(unused);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;

    if (!strcmp(how, "_Exit")) {
        before_end();
        _Exit(7);
    }
    if (!strcmp(how, "fault"))
        fault();
    if (!strcmp(how, "memory")) {
        int file = open(argv[2], O_RDWR | O_CREAT, 0600);

        if (ftruncate(file, sizeof(long)))
            return 1;
        before_end();
        touch_without_end(mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    }
    if (!strcmp(how, "first_leaves")) {
        before_end();
        first = pthread_self();
        pthread_create(&thread, NULL, outlives_the_first, NULL);
        pthread_exit(NULL);
    }
    if (!strcmp(how, "all_leave")) {
        before_end();
        pthread_create(&thread, NULL, leaves_last, NULL);
        pthread_detach(thread);
        pthread_exit(NULL);
    }
    if (!strcmp(how, "exec")) {
        before_end();
        execv(argv[2], argv + 2);
        after_failure();
        return 8;
    }
    return 9;
}
