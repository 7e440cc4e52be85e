/* live_blocks N: N small blocks in a list, all alive at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct block {
    struct block *next;
    unsigned long number;
};

static struct block *first;

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, sum = 0;
    for (unsigned long i = 0; i < count; i++) {
        struct block *b = malloc(sizeof *b); /* the big one */
        *b = (struct block){first, i};
        first = b;
    }
    for (const struct block *b = first; b; b = b->next)
        sum += b->number;
    printf("%lu blocks, %lu\n", count, sum);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(stderr, "ended at %ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    return 0;
}
