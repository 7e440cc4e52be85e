/*
 * shared_memory: memory that a program and the collector share.
 */
#ifndef TIDE_COLLECT_COUNTING_SHARED_MEMORY_H
#define TIDE_COLLECT_COUNTING_SHARED_MEMORY_H

#include <stddef.h>

/* Creates a memfd whose size nobody can change (if it were truncated, it would kill us), and maps
 * its first `mapped` bytes. Returns the fd, or a negative errno. */
int shared_memory_new(size_t size, size_t mapped, void **memory);
/* Maps the `size` bytes that follow the `size / 2` bytes mapped at `before`, as the recorder does
 * (record/shared_window.h): from the mapping before, which is of the same file, so that no fd is
 * needed. Returns NULL if this fails. */
char *shared_memory_window(const void *before, size_t size);

#endif
