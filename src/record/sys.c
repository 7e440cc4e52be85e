#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define NAP_PAUSES (1u << 14)

/*
 * A seccomp filter may end the program for a system call, and which ones the program cannot tell
 * us. An allocator and pthread_create make these themselves, so they are allowed.
 */
static bool harmless(long number)
{
    return number == SYS_mmap || number == SYS_munmap || number == SYS_madvise;
}

long sys_call(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long); /* what was not passed is not read by the kernel either */
    va_end(args);
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed) && !harmless(number))
        return -EPERM;
    return arch_syscall(number, a);
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

void sys_nap(void)
{
    struct {
        long seconds, ns;
    } nap = {0, 1000000};
    if (sys_call(SYS_nanosleep, &nap, 0L) == -EPERM) /* confined */
        for (unsigned i = 0; i < NAP_PAUSES; i++)
            arch_pause();
}

void sys_yield(void)
{
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed))
        arch_pause();
    else
        sys_call(SYS_sched_yield);
}
