/* deep_work DEPTH ROUNDS: works at the end of so many calls. */
#include <stdint.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;

NOINLINE static void work(long rounds)
{
    uint64_t state = 88172645463325252u;
    for (long i = 0; i < rounds * 2000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    sink = state;
}

NOINLINE static void deep(long depth, long rounds)
{
    if (depth)
        deep(depth - 1, rounds);
    else
        work(rounds);
    sink++; /* no tail call */
}

int main(int argc, char **argv)
{
    if (argc > 2)
        deep(atol(argv[1]), atol(argv[2]));
    return 0;
}
