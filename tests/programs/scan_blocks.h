/* For programs whose blocks are looked for by the scan at their end. */
#ifndef SCAN_BLOCKS_H
#define SCAN_BLOCKS_H

#include "known.h"

SITE static void *block(size_t size)
{
    return calloc(1, size);
}

/* Clears the stack of what was there: a stale pointer would keep a block. */
SITE static void clear_stack(void)
{
    volatile char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

#endif
