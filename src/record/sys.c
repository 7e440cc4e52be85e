#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/recorder.h"

#define NAP_PAUSES (1u << 14)

/*
 * A seccomp filter may end the program for a system call, and the program cannot tell us for which.
 * An allocator and pthread_create make these calls themselves, so they are allowed. For madvise,
 * only MADV_DONTNEED is allowed: filters such as Firefox's reject other advice.
 */
static bool harmless(long number, const long a[6])
{
    return number == SYS_mmap || number == SYS_munmap ||
           (number == SYS_madvise && a[2] == MADV_DONTNEED);
}

long sys_call(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long); /* what was not passed is not read by the kernel either */
    va_end(args);
    if (atomic_load_explicit(&recorder.confined, memory_order_relaxed) && !harmless(number, a))
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

/* The program's address space, in bytes; 0: not known. */
static uint64_t address_space(void)
{
    char text[64];
    uint64_t pages = 0;
    long fd =
        sys_call(SYS_openat, (long)AT_FDCWD, "/proc/self/statm", (long)(O_RDONLY | O_CLOEXEC));
    long n = fd < 0 ? 0 : sys_call(SYS_read, fd, text, sizeof text);
    if (fd >= 0)
        sys_call(SYS_close, fd);
    for (long i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    return pages * page_bytes();
}

uint64_t sys_nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

uint64_t sys_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return sys_nanoseconds(&now);
}

bool sys_leaves_room(size_t size)
{
    struct rlimit limit;
    if (sys_call(SYS_prlimit64, 0L, (long)RLIMIT_AS, 0L, &limit) < 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return true;
    uint64_t taken = address_space();
    return taken && limit.rlim_cur > taken && (limit.rlim_cur - taken) / 4 >= size;
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
