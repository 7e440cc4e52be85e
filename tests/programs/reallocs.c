/* realloc in all its meanings, each in a function of its own. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>

#include "known.h"

/* Whether others than glibc's are allowed, which may do two things in another way. */
#ifndef ANY_ALLOCATOR
#define ANY_ALLOCATOR 0
#endif

static void *volatile kept[64];
static int kept_count;

static void keep(void *block)
{
    kept[kept_count++] = block;
}

/* 10 blocks of 20 bytes, each grown nine times by 20: 100 allocations besides the 90 blockers. */
SITE static void grown(void)
{
    for (int i = 0; i < 10; i++) {
        void *block = malloc(20);
        for (size_t size = 40; size <= 200; size += 20) {
            known_sink = malloc(300); /* what stands behind keeps the block from growing in place */
            void *blocker = known_sink;
            block = realloc(block, size);
            free(blocker);
        }
        keep(block);
    }
}

/* Shrinks where it stands: the address stays, the size is the new one. */
SITE static void shrunk_in_place(void)
{
    void *block = malloc(100000);
    void *after = realloc(block, 50000);

    if (after != block && !ANY_ALLOCATOR)
        abort();
    keep(after);
}

SITE static void from_null(void)
{
    keep(realloc(NULL, 777));
}

SITE static void freed_by_zero(void)
{
    for (int i = 0; i < 5; i++) {
        void *block = malloc(9000);

        known_sink = block;
        known_sink = realloc(block, 0); /* glibc frees and returns NULL */
        if (known_sink && !ANY_ALLOCATOR)
            abort();
        free(known_sink);
    }
}

/* A realloc that fails leaves the block as it was. */
SITE static void kept_on_failure(void)
{
    volatile size_t too_much = PTRDIFF_MAX;
    void *block = malloc(640);

    if (realloc(block, too_much))
        abort();
    volatile size_t many = SIZE_MAX / 2;
    if (reallocarray(block, many, 16))
        abort();
    keep(block);
}

int main(void)
{
    grown();
    shrunk_in_place();
    from_null();
    freed_by_zero();
    kept_on_failure();
    return 0;
}
