/*
 * heap_before: what was allocated before the attach, counted by going through glibc's heaps from
 * outside while all threads stand still.
 */
#ifndef TIDE_COLLECT_ATTACH_HEAP_BEFORE_H
#define TIDE_COLLECT_ATTACH_HEAP_BEFORE_H

#include <stdbool.h>
#include <stdint.h>

struct remote_modules;

struct heap_before {
    bool known;
    uint64_t blocks, bytes; /* in use, as malloc_info counts them */
};

/* Not known: another allocator serves the program, or its heap is not as expected. */
void heap_before_count(struct remote_modules *m, struct heap_before *out);

#endif
