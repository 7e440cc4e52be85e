/*
 * page: the size of a page of memory. An aarch64 kernel has pages of 4, 16 or 64 KiB.
 */
#ifndef TIDE_MACHINE_PAGE_H
#define TIDE_MACHINE_PAGE_H

#include <stdint.h>
#include <unistd.h>

#define ARCH_PAGE_LARGEST 65536 /* of the sizes that a kernel may be built for */

/* The C library got it from the kernel, and only returns it. */
static inline uint64_t page_bytes(void)
{
    return (uint64_t)getpagesize();
}

#endif
