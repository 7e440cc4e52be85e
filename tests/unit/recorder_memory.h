/* What modules of the recorder want of record/system_calls.c, for tests of one module. `memory_left` says
 * whether there is any memory. */
#ifndef RECORDER_MEMORY_H
#define RECORDER_MEMORY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

long sys_call(long number, ...);
void *sys_map(size_t size);
bool sys_leaves_room(size_t size);
void recorder_own(const void *start, size_t size);

static bool memory_left = true;

long sys_call(long number, ...)
{
    va_list args;
    va_start(args, number);
    long a = va_arg(args, long), b = va_arg(args, long), c = va_arg(args, long),
         d = va_arg(args, long), e = va_arg(args, long), f = va_arg(args, long);
    va_end(args);
    return syscall(number, a, b, c, d, e, f); /* of errors the sign is enough */
}

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
