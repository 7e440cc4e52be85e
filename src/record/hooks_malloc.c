/*
 * The malloc family. Each hook forwards to the next function, then records. free is recorded first,
 * so that a thread that gets the same address next records it later. Blocks that are requested
 * before `next` is known come from bootstrap_alloc.h. Compiled with frame pointers (CALLER()).
 *
 * What a new function of the family needs besides its hook:
 *   exports.map    its name; docs/SAFETY.md has it in a table, too
 *   recorder.h     a field of struct next, unless its hook calls another function's field (as
 *                  reallocarray calls realloc's); next_functions.c sets the field
 *   own_malloc.c   FUNCTIONS, C_COUNT and is_rare, for programs that define it themselves
 *   deepbind.c     names, for libraries that are bound to libc's
 *   attach.c       find_malloc_code, if glibc's malloc.c exports it; collect/attach/safe_point.c
 *                  has the same list
 *   other_names.h  OTHER_FUNCTIONS, for allocators that have it by another name; its hook is in
 *                  hooks_other_names.c; set_next in other_names.c lists the fields of struct next
 *   mark_on.c      is_hooked, because no mark can be made inside a hook
 *   src/model      function_name.c and suppress_file.c list functions that allocate
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "record/attach.h"
#include "record/bootstrap_alloc.h"
#include "record/python_objects.h"
#include "record/recorder.h"

INTERNAL __typeof__(malloc) ROUTED(malloc);
INTERNAL __typeof__(calloc) ROUTED(calloc);
INTERNAL __typeof__(realloc) ROUTED(realloc);
INTERNAL __typeof__(free) ROUTED(free);
#if FROM_ENTRY
__typeof__(reallocarray) HOOK(reallocarray);
__typeof__(posix_memalign) HOOK(posix_memalign);
__typeof__(aligned_alloc) HOOK(aligned_alloc);
__typeof__(memalign) HOOK(memalign);
__typeof__(valloc) HOOK(valloc);
__typeof__(pvalloc) HOOK(pvalloc);
#endif

/* If libc's malloc is hooked at its entry, parts of it call each other, which the program does not
 * see. */
#define IS_INTERNAL() (FROM_ENTRY && attach_from_malloc(CALLER_PC(CALLER())))

/* Before `next` is known, dlsym may allocate: it gets static memory. NULL: continue. */
static inline void *boot_call(size_t size)
{
    if (LIKELY(next.malloc != NULL))
        return NULL;
    if (tls.busy) {
        void *p = boot_alloc(size);
        if (!p)
            errno = ENOMEM;
        return p;
    }
    thread_begin();
    return NULL;
}

/* Forwards and records a call that returns a block of `size` bytes. */
#define ALLOCATE(call, size)                                                                       \
    do {                                                                                           \
        struct thread *t = thread_enter();                                                         \
        if (UNLIKELY(!t))                                                                          \
            return (call);                                                                         \
        event_prefetch(t, CALLER());                                                               \
        void *p = (call);                                                                          \
        if (LIKELY(p != NULL))                                                                     \
            event_alloc(t, p, (size), CALLER());                                                   \
        thread_leave();                                                                            \
        return p;                                                                                  \
    } while (0)

INTERNAL void *ROUTED(malloc)(size_t size)
{
    void *boot = boot_call(size);
    if (UNLIKELY(boot != NULL))
        return boot;
    if (IS_INTERNAL())
        return next.malloc(size);
    ALLOCATE(next.malloc(size), size);
}

INTERNAL void *ROUTED(calloc)(size_t count, size_t size)
{
    void *boot = boot_call(count * size);
    if (UNLIKELY(boot != NULL))
        return boot; /* static memory is zero */
    ALLOCATE(next.calloc(count, size), count * size);
}

/* What ROUTED(free) does with a block that is not on the fast path. */
static __attribute__((noinline)) void free_other(void *p)
{
    if (UNLIKELY(boot_owns(p)))
        return;
    if (UNLIKELY(atomic_load_explicit(&recorder.frees_watched, memory_order_relaxed)))
        python_before_free(p);
    struct thread *t = thread_enter();
    if (UNLIKELY(!t)) {
        free_beneath(p, next.malloc_usable_size);
        next.free(p);
        return;
    }
    event_free(t, p, next.malloc_usable_size, FREE_SURE);
    next.free(p);
    thread_leave();
}

INTERNAL void ROUTED(free)(void *p)
{
    if (!p)
        return;
    if (IS_INTERNAL()) {
        next.free(p);
        return;
    }
    struct thread *t = thread_enter_quickly();
    if (LIKELY(t != NULL) && LIKELY(event_free_small(t, p))) {
        next.free(p);
        thread_leave();
        return;
    }
    if (t)
        tls.busy = 0;
    free_other(p);
}

EXPORT void HOOK(cfree)(void *p); /* no longer in any header, still in old programs */
void HOOK(cfree)(void *p)
{
    ROUTED(free)(p);
}

/* What the size is used for is up to the allocator, if it has these functions at all. */
#define FREE_SIZED(name, parameters, arguments)                                                    \
    EXPORT void HOOK(name) parameters;                                                             \
    void HOOK(name) parameters                                                                     \
    {                                                                                              \
        if (!p || UNLIKELY(boot_owns(p)))                                                          \
            return;                                                                                \
        if (UNLIKELY(!next.name)) {                                                                \
            ROUTED(free)(p);                                                                       \
            return;                                                                                \
        }                                                                                          \
        struct thread *t = thread_enter();                                                         \
        if (LIKELY(t != NULL))                                                                     \
            event_free(t, p, next.malloc_usable_size, FREE_SURE);                                  \
        else                                                                                       \
            free_beneath(p, next.malloc_usable_size);                                              \
        next.name arguments;                                                                       \
        if (LIKELY(t != NULL))                                                                     \
            thread_leave();                                                                        \
    }

FREE_SIZED(free_sized, (void *p, size_t size), (p, size))
FREE_SIZED(free_aligned_sized, (void *p, size_t alignment, size_t size), (p, alignment, size))

/*
 * The old block is recorded as freed before it is, as in free(); if the call fails, that is undone.
 * With size 0, realloc may free the block.
 */
static inline __attribute__((always_inline)) void *reallocate(void *old, size_t size,
                                                              const uint64_t *caller)
{
    struct thread *t = thread_enter();
    if (UNLIKELY(!t)) {
        free_beneath(old, next.malloc_usable_size);
        return next.realloc(old, size);
    }
    event_prefetch(t, caller);
    if (old)
        size ? event_realloc(t, old, next.malloc_usable_size, FREE_SURE)
             : event_free(t, old, next.malloc_usable_size, FREE_SURE);
    void *p = next.realloc(old, size);
    if (UNLIKELY(!p)) {
        if (old && size)
            event_realloc_failed(t);
    } else if (UNLIKELY(!event_alloc(t, p, size, caller)) && old) {
        note_unrecorded(t);
    }
    thread_leave();
    return p;
}

static void *boot_realloc(void *old, size_t size)
{
    void *p = malloc(size);
    size_t room = boot_room(old);
    if (p && old)
        memcpy(p, old, size < room ? size : room);
    return p;
}

INTERNAL void *ROUTED(realloc)(void *old, size_t size)
{
    if (UNLIKELY(!next.malloc || boot_owns(old)))
        return boot_realloc(old, size);
    if (IS_INTERNAL())
        return next.realloc(old, size);
    if (!old)
        ALLOCATE(next.realloc(NULL, size), size);
    return reallocate(old, size, CALLER());
}

EXPORT void *HOOK(reallocarray)(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (UNLIKELY(!next.malloc || boot_owns(old)))
        return boot_realloc(old, bytes);
    return reallocate(old, bytes, CALLER());
}

/*
 * The C++ runtime rounds the size of an aligned operator new; the requested size counts. If it does
 * not round to this size, it belongs to another call that never got here.
 */
static inline size_t asked_for(size_t size, size_t alignment)
{
    size_t wanted = tls.wanted;
    tls.wanted = 0;
    return wanted && size - (wanted - 1) <= alignment ? wanted - 1
                                                      : size; /* 0 is rounded up, too */
}

EXPORT int HOOK(posix_memalign)(void **out, size_t alignment, size_t size)
{
    size_t asked = asked_for(size, alignment);
    if (UNLIKELY(!next.malloc))
        thread_begin();
    struct thread *t = thread_enter();
    if (UNLIKELY(!t))
        return next.posix_memalign(out, alignment, size);
    int result = next.posix_memalign(out, alignment, size);
    if (result == 0 && *out)
        event_alloc(t, *out, asked, CALLER());
    thread_leave();
    return result;
}

EXPORT void *HOOK(aligned_alloc)(size_t alignment, size_t size)
{
    size_t asked = asked_for(size, alignment);
    if (UNLIKELY(!next.malloc))
        thread_begin();
    ALLOCATE(next.aligned_alloc(alignment, size), asked);
}

EXPORT void *HOOK(memalign)(size_t alignment, size_t size)
{
    size_t asked = asked_for(size, alignment);
    if (UNLIKELY(!next.malloc))
        thread_begin();
    ALLOCATE(next.memalign(alignment, size), asked);
}

EXPORT void *HOOK(valloc)(size_t size)
{
    if (UNLIKELY(!next.malloc))
        thread_begin();
    ALLOCATE(next.valloc(size), size);
}

EXPORT void *HOOK(pvalloc)(size_t size)
{
    if (UNLIKELY(!next.malloc))
        thread_begin();
    /* It rounds up to whole pages, and that is what the caller asked for. */
    size_t asked = (size + page_bytes() - 1) & ~(page_bytes() - 1);
    struct thread *t = thread_enter();
    if (UNLIKELY(!t))
        return next.pvalloc(size);
    void *p = next.pvalloc(size);
    if (LIKELY(p != NULL))
        (next.pvalloc_is_foreign ? event_alloc_foreign : event_alloc)(t, p, asked, CALLER());
    thread_leave();
    return p;
}
