/* 100 blocks of 1,000 live at the mark 'full', all freed at the mark 'empty'; then 3 of 50 that stay. */
#include <stdlib.h>

#include "known.h"
#include "tidemark.h"

static void *blocks[100];

SITE static void fill(void)
{
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(1000);
}

SITE static void stay(void)
{
    for (int i = 0; i < 3; i++)
        known_sink = malloc(50);
}

int main(void)
{
    fill();
    tide_mark("full");
    for (int i = 0; i < 100; i++)
        free(blocks[i]), blocks[i] = NULL; /* else it would point to a block that stays */
    tide_mark("empty");
    stay();
    return 0;
}
