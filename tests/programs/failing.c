/* Allocations that fail are not counted, set errno as libc does, and what follows is counted as
 * ever. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

#include "known.h"

static volatile size_t too_much = PTRDIFF_MAX;
static volatile size_t half = SIZE_MAX / 2;

static void must_fail(void *block)
{
    if (block || errno != ENOMEM)
        _Exit(9);
    errno = 0;
}

SITE static void failing(void)
{
    void *block = NULL;
    volatile size_t bad_alignment = 3;

    errno = 0;
    must_fail(malloc(too_much));
    must_fail(calloc(half, 16));
    must_fail(realloc(NULL, too_much));
    must_fail(reallocarray(NULL, half, 16));
    must_fail(memalign(64, too_much));
    must_fail(valloc(too_much));
    must_fail(pvalloc(too_much));
    must_fail(aligned_alloc(64, too_much));
    if (posix_memalign(&block, 64, too_much) != ENOMEM || block)
        _Exit(8);
    if (posix_memalign(&block, bad_alignment, 64) != EINVAL || block)
        _Exit(7);
}

SITE static void succeeding(void)
{
    for (int i = 0; i < 20; i++)
        known_sink = malloc(50);
}

int main(void)
{
    for (int i = 0; i < 10; i++)
        failing();
    succeeding();
    return 0;
}
