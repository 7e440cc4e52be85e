/*
 * rounding FILE: blocks whose usable sizes it asks for itself and writes to FILE: for each function
 * its name, blocks, bytes requested and usable in all; then requested and usable of what is kept;
 * and its largest block.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "known.h"

struct sums {
    const char *name;
    unsigned long blocks, bytes, usable, live_bytes, live_usable, largest;
};

static void count(struct sums *s, void *p, size_t size, int kept)
{
    s->blocks++;
    s->bytes += size;
    s->usable += malloc_usable_size(p);
    if (kept) {
        s->live_bytes += size;
        s->live_usable += malloc_usable_size(p);
    }
    s->largest = size > s->largest ? size : s->largest;
}

SITE static void small(struct sums *s)
{
    for (int i = 0; i < 200; i++) {
        void *p = malloc((size_t)i + 1);
        count(s, p, (size_t)i + 1, i % 2);
        known_sink = p;
        if (i % 2 == 0)
            free(p);
    }
}

SITE static void large(struct sums *s)
{
    for (size_t size = 5000; size < 3000000; size = size * 3 / 2 + 1) {
        known_sink = malloc(size);
        count(s, known_sink, size, 1);
    }
}

/* Each step is an allocation of its own; only the last is kept. */
SITE static void by_realloc(struct sums *s)
{
    void *p = NULL;
    for (size_t size = 10; size < 400000; size = size * 2 + 3) {
        p = realloc(p, size);
        count(s, p, size, size * 2 + 3 >= 400000);
    }
    p = realloc(p, 3000); /* smaller, perhaps where it is */
    s->live_bytes = s->live_usable = 0;
    count(s, p, 3000, 1);
    known_sink = p;
}

SITE static void aligned(struct sums *s)
{
    for (size_t size = 100; size < 5000; size += 700) {
        void *p = NULL;
        if (posix_memalign(&p, 256, size))
            _exit(9);
        count(s, p, size, 1);
        known_sink = p;
    }
}

int main(int argc, char **argv)
{
    struct sums sums[] = {
        {.name = "small"}, {.name = "large"}, {.name = "by_realloc"}, {.name = "aligned"}};
    void (*const work[])(struct sums *) = {small, large, by_realloc, aligned};
    int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    for (int i = 0; i < 4; i++) {
        char line[200];
        work[i](&sums[i]);
        int n = snprintf(line, sizeof line, "%s %lu %lu %lu %lu %lu %lu\n", sums[i].name,
                         sums[i].blocks, sums[i].bytes, sums[i].usable, sums[i].live_bytes,
                         sums[i].live_usable, sums[i].largest);
        if (write(fd, line, (size_t)n) != n)
            return 1;
    }
    return 0;
}
