#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "record/libc.h"
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

/* --- mappings --------------------------------------------------------------------------------- */

/* Those that are much larger than what is used of them at first. */
#define LARGE_BYTES ((size_t)256 << 10)
#define LARGE_MOST  4096
static struct {
    _Atomic uintptr_t start, end;
} large[LARGE_MOST];
static _Atomic unsigned large_count;

static void note_large(uintptr_t start, size_t size)
{
    unsigned i = size < LARGE_BYTES ? LARGE_MOST : atomic_fetch_add(&large_count, 1);
    if (i >= LARGE_MOST)
        return;
    atomic_store(&large[i].start, start);
    atomic_store(&large[i].end, start + size);
}

static unsigned large_noted(void)
{
    unsigned count = atomic_load(&large_count);
    return count < LARGE_MOST ? count : LARGE_MOST;
}

uintptr_t sys_mapped_to(uintptr_t address)
{
    for (unsigned i = 0; i < large_noted(); i++)
        if (address >= atomic_load(&large[i].start) && address < atomic_load(&large[i].end))
            return atomic_load(&large[i].end);
    return 0;
}

uintptr_t sys_mapped_from(uintptr_t address)
{
    uintptr_t behind = UINTPTR_MAX;
    for (unsigned i = 0; i < large_noted(); i++) {
        uintptr_t start = atomic_load(&large[i].start);
        if (start > address && start < behind)
            behind = start;
    }
    return behind;
}

/* What cannot be accessed yet does not become resident although all new memory is locked. */
static void *map(size_t size, int flags, int fd, uint64_t offset)
{
    bool locked = atomic_load_explicit(&recorder.memory_locked, memory_order_relaxed) &&
                  !atomic_load_explicit(&recorder.confined, memory_order_relaxed);
    int access = PROT_READ | PROT_WRITE;
    long p = sys_call(SYS_mmap, 0L, (long)size, (long)(locked ? PROT_NONE : access), (long)flags,
                      (long)fd, (long)offset);
    if (p < 0 && p > -4096)
        return NULL;
    if (UNLIKELY(locked)) {
        sys_call(SYS_munlock, p, (long)size);
        if (sys_call(SYS_mprotect, p, (long)size, (long)access) < 0) {
            sys_call(SYS_munmap, p, (long)size);
            return NULL;
        }
    }
    note_large((uintptr_t)p, size);
    /* Otherwise the kernel would write it to a core dump, and make all pages of it for that which
     * are not there yet. */
    sys_call(SYS_madvise, p, (long)size, (long)MADV_DONTDUMP);
    return (void *)p;
}

void *sys_map_shared(int fd, size_t size, uint64_t offset)
{
    return map(size, MAP_SHARED, fd, offset);
}

void *sys_map(size_t size)
{
    void *p = map(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!p)
        return NULL;
    /* A huge page would turn a few touched kilobytes into 2 MiB of the program's RSS. */
    sys_call(SYS_madvise, p, (long)size, (long)MADV_NOHUGEPAGE);
    return p;
}

/* --- limits and time -------------------------------------------------------------------------- */

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

/* What the collector's clock is ahead of this process's, which may have its own in a time
 * namespace. */
static uint64_t ahead_ns;

uint64_t sys_own_clock_ns(void)
{
    struct timespec now;
    (libc.clock_gettime ? libc.clock_gettime : clock_gettime)(CLOCK_MONOTONIC, &now);
    return sys_nanoseconds(&now);
}

uint64_t sys_monotonic_ns(void)
{
    return sys_own_clock_ns() + ahead_ns;
}

void sys_match_clock(uint64_t asked_ns, uint64_t collectors_ns)
{
    uint64_t now_ns = sys_own_clock_ns();
    bool same = asked_ns <= collectors_ns && collectors_ns <= now_ns;
    ahead_ns = same ? 0 : collectors_ns - now_ns;
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
