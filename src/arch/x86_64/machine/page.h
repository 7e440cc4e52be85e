/*
 * page: the size of a page of memory. x86-64 has one.
 */
#ifndef TIDE_MACHINE_PAGE_H
#define TIDE_MACHINE_PAGE_H

#include <stdint.h>

#define ARCH_PAGE_LARGEST 4096 /* of the sizes that a kernel may be built for */

static inline uint64_t page_bytes(void)
{
    return 4096;
}

#endif
