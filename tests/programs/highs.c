/*
 * highs: 40 times it has one block of 100,000 bytes more than before, makes the mark "high", frees
 * all, and makes the mark "low".
 */
#include "known.h"
#include "tidemark.h"

static void *blocks[40];

SITE static void rise(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(100000);
}

int main(void)
{
    for (int count = 1; count <= 40; count++) {
        rise(count);
        tide_mark("high");
        for (int i = 0; i < count; i++)
            free(blocks[i]);
        tide_mark("low");
    }
    return 0;
}
