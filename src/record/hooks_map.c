/*
 * Mappings that the program makes itself: the metric `mapped`. What the allocator maps inside a
 * hook is part of the heap and not seen here; what libc and the loader map internally never comes
 * this way.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/attach.h"
#include "record/libc.h"
#include "record/recorder.h"

#if FROM_ENTRY
__typeof__(mmap) HOOK(mmap);
__typeof__(munmap) HOOK(munmap);
__typeof__(mremap) HOOK(mremap);
#endif

/* If libc's own entries are hooked, what libc and the loader map does come this way. */
#define IS_INTERNAL() (FROM_ENTRY && attach_from_libc(CALLER_PC(CALLER())))

static void *map_directly(void *at, size_t size, int protection, int flags, int fd, long offset)
{
    if (LIKELY(next.mmap != NULL))
        return next.mmap(at, size, protection, flags, fd, offset);
    long p = sys_call(SYS_mmap, at, size, (long)protection, (long)flags, (long)fd, offset);
    if (p < 0 && p > -4096) {
        errno = (int)-p;
        return MAP_FAILED;
    }
    return (void *)p;
}

/* CPython's arenas are mappings, although the allocator maps them inside a wrapper of ours. */
static inline __attribute__((always_inline)) struct thread *map_enter(enum beneath *was)
{
    struct thread *t = thread_enter();
    *was = BENEATH_NOTHING;
    return t ? t : beneath_enter(was);
}

static void map_leave(struct thread *t, enum beneath was)
{
    if (t && was)
        beneath_leave(t, was);
    else if (t)
        thread_leave();
}

static uint64_t whole_pages(size_t size)
{
    return (size + page_bytes() - 1) & ~(page_bytes() - 1);
}

EXPORT void *HOOK(mmap)(void *at, size_t size, int protection, int flags, int fd, long offset)
{
    enum beneath was = BENEATH_NOTHING;
    struct thread *t = next.mmap && !IS_INTERNAL() ? map_enter(&was) : NULL;
    void *p = map_directly(at, size, protection, flags, fd, offset);
    bool plain = !at && fd == -1 && flags == (MAP_PRIVATE | MAP_ANONYMOUS);
    if (t && p != MAP_FAILED)
        event_map(t, p, whole_pages(size), plain, CALLER());
    map_leave(t, was);
    return p;
}

#if !FROM_ENTRY
EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, long offset)
    __attribute__((alias("mmap")));
#endif

/*
 * Recorded before it happens, as free is: another thread may map the same place at once. If the
 * call fails, that is undone.
 */
static bool unmap_begins(struct thread *t, void *p, size_t size)
{
    return t && (uintptr_t)p % page_bytes() == 0 && size && event_unmap(t, p, whole_pages(size));
}

static int unmap_directly(void *p, size_t size)
{
    if (LIKELY(next.munmap != NULL))
        return next.munmap(p, size);
    long result = sys_call(SYS_munmap, p, size);
    if (result < 0)
        errno = (int)-result;
    return result < 0 ? -1 : 0;
}

EXPORT int HOOK(munmap)(void *p, size_t size)
{
    enum beneath was = BENEATH_NOTHING;
    struct thread *t = next.munmap && !IS_INTERNAL() ? map_enter(&was) : NULL;
    bool begun = unmap_begins(t, p, size);
    int result = unmap_directly(p, size);
    if (begun && result != 0)
        event_unmap_failed(t);
    map_leave(t, was);
    return result;
}

EXPORT void *HOOK(mremap)(void *old, size_t old_size, size_t size, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    void *wanted = flags & MREMAP_FIXED ? va_arg(args, void *) : NULL;
    va_end(args);
    if (UNLIKELY(!next.mremap))
        thread_begin();
    struct thread *t = IS_INTERNAL() ? NULL : thread_enter();
    bool begun = !(flags & MREMAP_DONTUNMAP) && unmap_begins(t, old, old_size);
    void *p = next.mremap(old, old_size, size, flags, wanted);
    if (t && p != MAP_FAILED)
        event_map(t, p, whole_pages(size), false, CALLER());
    else if (begun)
        event_unmap_failed(t);
    if (t)
        thread_leave();
    return p;
}
