/*
 * distinct_stacks N: N allocations, each with a call stack of its own: the bits of a counter choose
 * one of two calls at each of 25 levels. A block of 256 MiB stays allocated meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEVELS 25

static unsigned long made;

__attribute__((noinline, noclone)) static void choose(unsigned level, unsigned long path)
{
    if (level == 0) {
        void *p = malloc(16 + path % 64);
        made += p != NULL;
        free(p);
    } else if (path >> (level - 1) & 1) {
        choose(level - 1, path);
        __asm__ volatile("" ::: "memory"); /* no tail call */
    } else {
        choose(level - 1, path);
        __asm__ volatile("nop" ::: "memory");
    }
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    size_t size = (size_t)256 << 20;
    char *big = malloc(size); /* the big one */
    memset(big, 1, size);
    for (unsigned long i = 0; i < count; i++)
        choose(LEVELS, i);
    printf("%lu allocations, %d\n", made, big[size - 1]);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(stderr, "ended at %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    return 0;
}
