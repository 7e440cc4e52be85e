/*
 * bootstrap_alloc: memory for allocations that are made before `next` is known: dlsym, which finds
 * the next malloc, may allocate itself.
 *
 * Such blocks are in one static array and are never freed. They must not reach the next free or
 * realloc: the hooks of these ask boot_owns first (hooks_malloc.c), and no call with such a block
 * is routed past the hooks (routes.c, alloc_sample.c).
 *
 * Threads: any. [malloc-free], no lock.
 */
#ifndef TIDE_RECORD_BOOTSTRAP_ALLOC_H
#define TIDE_RECORD_BOOTSTRAP_ALLOC_H

#include "record/recorder.h"

#define BOOT_BYTES 65536
extern INTERNAL char boot_memory[BOOT_BYTES];

void *boot_alloc(size_t size);   /* zeroed; NULL: there is no room left */
size_t boot_bytes(char **start); /* the bytes of boot_memory that were used, from *start on */
size_t boot_room(const void *p); /* how many bytes can be read from p on */

static inline bool boot_owns(const void *p)
{
    return (uintptr_t)p - (uintptr_t)boot_memory < BOOT_BYTES;
}

#endif
