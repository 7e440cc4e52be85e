#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/recorder.h"

/* Returns the result or a negative errno; the caller's errno is untouched. */
long sys_call(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long); /* what was not passed is not read by the kernel either */
    va_end(args);
    int saved = errno;
    long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
}

void *sys_map(size_t size)
{
    long p = sys_call(SYS_mmap, 0L, (long)size, (long)(PROT_READ | PROT_WRITE),
                      (long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE), -1L, 0L);
    if (p < 0 && p > -4096)
        return NULL;
    /* A huge page would turn a few touched kilobytes into 2 MiB of the program's RSS. */
    sys_call(SYS_madvise, p, (long)size, (long)MADV_NOHUGEPAGE);
    return (void *)p;
}
