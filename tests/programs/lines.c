/* Three allocations on known lines, one of them in an inlined function. */
#include "known.h"

static inline __attribute__((always_inline)) void *inlined(size_t size)
{
    return malloc(size); /* line inlined */
}

SITE static void two_lines(void)
{
    known_sink = malloc(10); /* line first */
    known_sink = malloc(20); /* line second */
}

SITE static void calls_inlined(void)
{
    known_sink = inlined(30); /* line call */
}

int main(void)
{
    two_lines();     /* line main_first */
    calls_inlined(); /* line main_second */
    return 0;
}
