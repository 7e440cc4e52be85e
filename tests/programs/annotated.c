/*
 * Bytes on known lines: one call, a loop, a function that is called, code inlined once and twice,
 * and a function that calls itself. With an argument it works on one line instead, that often.
 */
#include <stdint.h>

#include "known.h"

#define INLINED static inline __attribute__((always_inline))

INLINED void *inner(size_t size)
{
    return malloc(size); /* line inner */
}

INLINED void *outer(size_t size)
{
    known_sink = malloc(8); /* line outer_own */
    return inner(size);     /* line outer_call */
}

SITE static void helper(size_t size)
{
    known_sink = malloc(size); /* line helper */
}

static volatile int three = 3;

SITE static void lines(void)
{
    known_sink = malloc(100); /* line once */
    for (int i = 0; i < three; i++)
        known_sink = malloc(1000); /* line loop */
    helper(5000);                  /* line call */
    known_sink = outer(70000);     /* line twice_inlined */
    known_sink = inner(200);       /* line inlined */
}

SITE static void descend(int depth)
{
    known_sink = malloc(10); /* line level */
    if (depth > 1)
        descend(depth - 1); /* line again */
}

SITE static uint64_t spin(uint64_t state, long rounds)
{
    for (long i = 0; i < rounds; i++)
        state = (state * 6364136223846793005u + 1442695040888963407u) ^ state >> 29; /* line hot */
    return state;
}

static volatile uint64_t result;

int main(int argc, char **argv)
{
    if (argc > 1) {
        result = spin(1, atol(argv[1]));
        return 0;
    }
    lines();
    descend(5);
    return 0;
}
