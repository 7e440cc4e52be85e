/*
 * As many stacks as the argument's power of two: each allocates 16 bytes once, and each is as deep
 * as all others. The blocks are a list that begins in a variable.
 */
#include "known.h"

static void **list;

SITE static void leaf(void)
{
    void **block = malloc(16); /* leaf */

    *block = list;
    list = block;
}

/* The lowest bits of `path` say from which line the next call is made. */
SITE static void branch(int depth, unsigned path)
{
    if (!depth) {
        leaf();
        __asm__ volatile("");
    } else if (path & 1) {
        branch(depth - 1, path >> 1);
        __asm__ volatile("");
    } else {
        branch(depth - 1, path >> 1);
        __asm__ volatile("nop");
    }
}

int main(int argc, char **argv)
{
    int depth = known_argument(argc, argv, 1, 17);

    for (unsigned path = 0; path < 1u << depth; path++)
        branch(depth, path);
    return 0;
}
