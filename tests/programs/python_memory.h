/* CPython's allocators, as PyMem_GetAllocator tells them. */
#ifndef PYTHON_MEMORY_H
#define PYTHON_MEMORY_H

#include <stddef.h>

enum { RAW = 0, MEM = 1, OBJECTS = 2 };

struct allocator {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

#endif
