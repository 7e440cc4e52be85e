/*
 * Every allocation function of libc, each in a function of its own: ROUNDS blocks, of which KEPT
 * are never freed. heap_family THREADS runs the whole in that many threads.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <string.h>

#include "known.h"

/* jemalloc has no pvalloc: such a block is libc's, and must not be given to jemalloc. Others have
 * neither valloc nor pvalloc. */
#ifndef ONLY_COMMON
#define ONLY_COMMON 0
#endif
#ifndef WITHOUT_PVALLOC_FREE
#define WITHOUT_PVALLOC_FREE 0
#endif

enum { ROUNDS = 50, KEPT = 10 };

SITE static void settle(void *block, int round)
{
    known_sink = block;
    if (round >= KEPT)
        free(block);
}

SITE static void by_malloc(int i)
{
    settle(malloc(1001), i);
}

SITE static void by_calloc(int i)
{
    settle(calloc(7, 101), i);
}

SITE static void by_realloc(int i)
{
    settle(realloc(NULL, 1303), i);
}

SITE static void by_reallocarray(int i)
{
    settle(reallocarray(NULL, 11, 103), i);
}

SITE static void by_posix_memalign(int i)
{
    void *block;

    if (posix_memalign(&block, 4096, 1507))
        abort();
    settle(block, i);
}

SITE static void by_aligned_alloc(int i)
{
    settle(aligned_alloc(64, 1664), i);
}

SITE static void by_memalign(int i)
{
    settle(memalign(256, 1709), i);
}

SITE static void by_valloc(int i)
{
    settle(valloc(1811), i);
}

SITE static void by_pvalloc(int i)
{
    void *block = pvalloc(8192);

    settle(block, WITHOUT_PVALLOC_FREE ? 0 : i);
}

SITE static void by_strdup(int i)
{
    settle(strdup("twelve chars"), i);
}

SITE static void by_strndup(int i)
{
    settle(strndup("twelve chars", 6), i);
}

SITE static void by_free_of_null(void)
{
    free(NULL);
}

SITE static void *work(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        by_malloc(i);
        by_calloc(i);
        by_realloc(i);
        by_reallocarray(i);
        by_posix_memalign(i);
        by_aligned_alloc(i);
        by_memalign(i);
        if (!ONLY_COMMON) {
            by_valloc(i);
            by_pvalloc(i);
        }
        by_strdup(i);
        by_strndup(i);
        by_free_of_null();
    }
    return unused;
}

int main(int argc, char **argv)
{
    known_run(known_argument(argc, argv, 1, 1), work);
    return 0;
}
