/*
 * sparse: large blocks of which only a few pages are touched. 8 of 1 GiB, each with one page in the
 * middle and one at the end that point to a block of 1001 and 1002 bytes, and 8192 of 512 KiB that
 * are not touched at all. 3 more blocks, of 1003 bytes, are lost.
 */
#include "known.h"

#define GIB ((size_t)1 << 30)

static void *volatile large[8], *volatile middle[8192];

SITE static void *pointed_to(size_t size)
{
    return malloc(size);
}

SITE static void fill(void)
{
    for (int i = 0; i < 8; i++) {
        char *block = malloc(GIB);

        large[i] = block;
        if (!block)
            exit(9);
        *(void *volatile *)(block + GIB / 2) = pointed_to(1001);
        *(void *volatile *)(block + GIB - 8) = pointed_to(1002);
    }
    for (int i = 0; i < 8192; i++)
        middle[i] = malloc((size_t)512 << 10);
    for (int i = 0; i < 3; i++)
        known_sink = pointed_to(1003);
    known_sink = NULL;
}

SITE static void clear_stack(void)
{
    volatile char stack[4096];

    for (size_t i = 0; i < sizeof stack; i++)
        stack[i] = 0;
}

int main(void)
{
    fill();
    clear_stack();
    return 0;
}
