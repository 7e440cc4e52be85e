/* How modules of the recorder get memory (record/sys.c), for tests of one module: `memory_left` says
 * whether there is any. */
#ifndef RECORDER_MEMORY_H
#define RECORDER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

void *sys_map(size_t size);
bool sys_leaves_room(size_t size);
void recorder_own(const void *start, size_t size);

static bool memory_left = true;

void *sys_map(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

bool sys_leaves_room(size_t size)
{
    (void)size;
    return memory_left;
}

void recorder_own(const void *start, size_t size)
{
    (void)start;
    (void)size;
}

#endif
