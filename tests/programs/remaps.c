/*
 * remaps THREADS ROUNDS: threads move mappings about, so that a place which one leaves is taken by
 * another at once. Each keeps a page of keep()'s for every eighth round, and 7 of move()'s. Then
 * calls that fail: 5 pages of keep_after_failures()'s stay.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>

#include "known.h"

enum { PAGE = 4096 };

static int rounds;

SITE static char *map(size_t pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE static char *move(char *old, size_t old_pages, size_t pages)
{
    return mremap(old, old_pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
}

SITE static char *keep(void)
{
    return mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE static char *keep_after_failures(size_t pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *work(void *argument)
{
    size_t pages = 2;
    char *p = map(pages);

    (void)argument;
    for (int i = 0; i < rounds; i++) {
        size_t other = 1 + (size_t)i * 7 % 40;
        char *q = map(other);

        p = move(p, pages, other + 3);
        pages = other + 3;
        if (p == MAP_FAILED || q == MAP_FAILED || munmap(q, other * PAGE) ||
            (i % 8 == 0 && keep() == MAP_FAILED))
            abort();
    }
    if (move(p, pages, 7) == MAP_FAILED)
        abort();
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = known_argument(argc, argv, 2, 1000);
    known_run(known_argument(argc, argv, 1, 4), work);

    char *p = keep_after_failures(8);

    munmap(p + 5 * PAGE, 3 * PAGE);
    if (!munmap(p, (size_t)1 << 60) || /* beyond the end of memory */
        mremap(p, 5 * PAGE, (size_t)1 << 46, 0) != MAP_FAILED ||
        mremap(p, 5 * PAGE, (size_t)1 << 60, MREMAP_MAYMOVE) != MAP_FAILED ||
        mremap(p, 5 * PAGE, 0, MREMAP_MAYMOVE) != MAP_FAILED)
        return 1;
    return 0;
}
