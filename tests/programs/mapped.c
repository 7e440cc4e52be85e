/* mmap, munmap and mremap as the program itself calls them; sizes in pages of 4096 bytes. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "known.h"

enum { PAGE = 4096 };

static void *map(size_t pages)
{
    void *area =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        abort();
    return area;
}

/* 16 pages stay. */
SITE static void stays_mapped(void)
{
    known_sink = map(16);
}

/* 10 times 32 pages, all given back. */
SITE static void unmapped(void)
{
    for (int i = 0; i < 10; i++) {
        void *area = map(32);

        known_sink = area;
        munmap(area, 32 * PAGE);
    }
}

/* 64 pages; the first 8, the last 8 and 4 in the middle are given back: 44 stay. */
SITE static void partly_unmapped(void)
{
    char *area = map(64);

    known_sink = area;
    munmap(area, 8 * PAGE);
    munmap(area + 56 * PAGE, 8 * PAGE);
    munmap(area + 30 * PAGE, 4 * PAGE);
}

/* 8 pages become 100. */
SITE static void remapped(void)
{
    known_sink = mremap(map(8), 8 * PAGE, 100 * PAGE, MREMAP_MAYMOVE);
    if (known_sink == MAP_FAILED)
        abort();
}

/* 50 pages become 5. */
SITE static void remapped_smaller(void)
{
    known_sink = mremap(map(50), 50 * PAGE, 5 * PAGE, 0);
    if (known_sink == MAP_FAILED)
        abort();
}

/* 12 pages, mapped over by 12 others: 12 stay, charged to the second. */
SITE static void *mapped_over(void)
{
    return map(12);
}

SITE static void maps_over(void *area)
{
    known_sink = mmap(area, 12 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (known_sink == MAP_FAILED)
        abort();
}

/* Fails: nothing is mapped. */
SITE static void map_fails(void)
{
    volatile size_t none = 0;

    if (mmap(NULL, none, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        abort();
}

/* munmap of one range that covers two areas side by side: both are gone. */
SITE static void two_at_once(void)
{
    char *both = map(20);

    known_sink = both;
    known_sink = mmap(both + 10 * PAGE, 10 * PAGE, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    munmap(both, 20 * PAGE);
}

int main(void)
{
    stays_mapped();
    unmapped();
    partly_unmapped();
    remapped();
    remapped_smaller();
    maps_over(mapped_over());
    map_fails();
    two_at_once();
    return 0;
}
