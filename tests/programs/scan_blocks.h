/* For programs whose blocks are looked for by the scan at their end. */
#ifndef SCAN_BLOCKS_H
#define SCAN_BLOCKS_H

#include "clear_stack.h"
#include "known.h"

SITE static void *block(size_t size)
{
    return calloc(1, size);
}

#endif
