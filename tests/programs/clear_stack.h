/* For programs whose lost blocks are counted exactly. */
#ifndef CLEAR_STACK_H
#define CLEAR_STACK_H

#include <stddef.h>

#include "known.h"

/* Clears the stack of what was there: a stale pointer would keep a block. */
SITE static void clear_stack(void)
{
    volatile char room[16384];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

#endif
