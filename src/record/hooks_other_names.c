/*
 * The hooks for allocation functions with other names than malloc's (other_names.h). The functions'
 * own code jumps to them, and they continue there. Compiled with frame pointers (CALLER()). Frees
 * may be of blocks that were not seen, because an allocator has more ways to return a block than
 * are hooked.
 */
#include "record/other_names.h"
#include "record/recorder.h"

#define HOOK_OF(name) other_hook_##name

static size_t ask(void *p)
{
    return other_usable(p);
}

/* The function that reports the usable size at a free; NULL: none, or not in the way for which the
 * index was set up. */
static inline usable_of *asked(void)
{
    return other_usable && !index_spacing() ? ask : NULL;
}

static inline __attribute__((always_inline)) bool record(struct thread *t, void *p, size_t size,
                                                         const uint64_t *caller)
{
    size_t usable = other_usable ? other_usable(p) : size;
    return (asked() ? event_alloc_sized : event_alloc_stored)(t, p, size, usable, caller);
}

/* The beginning of a hook that returns a block. */
#define ENTER(name, parameters, arguments)                                                         \
    void *(*function)parameters = other_next[OTHER_##name];                                        \
    struct thread *t = thread_enter();                                                             \
    if (UNLIKELY(!t))                                                                              \
        return function arguments;                                                                 \
    event_prefetch(t, CALLER())

#define ALLOCATING(name, size, parameters, arguments)                                              \
    void *HOOK_OF(name) parameters;                                                                \
    void *HOOK_OF(name) parameters                                                                 \
    {                                                                                              \
        ENTER(name, parameters, arguments);                                                        \
        void *p = function arguments;                                                              \
        if (LIKELY(p != NULL))                                                                     \
            record(t, p, (size), CALLER());                                                        \
        thread_leave();                                                                            \
        return p;                                                                                  \
    }

/* The old block is recorded as freed before it is; if the call fails, that is undone. */
#define REALLOCATING(name, size, parameters, arguments)                                            \
    void *HOOK_OF(name) parameters;                                                                \
    void *HOOK_OF(name) parameters                                                                 \
    {                                                                                              \
        ENTER(name, parameters, arguments);                                                        \
        if (old)                                                                                   \
            event_realloc(t, old, asked(), FREE_MAYBE);                                            \
        void *p = function arguments;                                                              \
        if (UNLIKELY(!p)) {                                                                        \
            if (old)                                                                               \
                event_realloc_failed(t);                                                           \
        } else if (UNLIKELY(!record(t, p, (size), CALLER())) && old) {                             \
            note_unrecorded(t);                                                                    \
        }                                                                                          \
        thread_leave();                                                                            \
        return p;                                                                                  \
    }

#define FREEING(name, parameters, arguments)                                                       \
    void HOOK_OF(name) parameters;                                                                 \
    void HOOK_OF(name) parameters                                                                  \
    {                                                                                              \
        void(*function) parameters = other_next[OTHER_##name];                                     \
        struct thread *t = p ? thread_enter() : NULL;                                              \
        if (LIKELY(t != NULL))                                                                     \
            event_free(t, p, asked(), FREE_MAYBE);                                                 \
        function arguments;                                                                        \
        if (LIKELY(t != NULL))                                                                     \
            thread_leave();                                                                        \
    }

/* As malloc's. Those that return NULL for an overflowing product never record its size. */
ALLOCATING(malloc, size, (size_t size), (size))
ALLOCATING(calloc, count *size, (size_t count, size_t size), (count, size))
ALLOCATING(aligned_alloc, size, (size_t alignment, size_t size), (alignment, size))
ALLOCATING(memalign, size, (size_t alignment, size_t size), (alignment, size))
ALLOCATING(valloc, size, (size_t size), (size))
ALLOCATING(pvalloc, (size + page_bytes() - 1) & ~(page_bytes() - 1), (size_t size), (size))
REALLOCATING(reallocarray, count *size, (void *old, size_t count, size_t size), (old, count, size))
FREEING(free, (void *p), (p))
FREEING(free_sized, (void *p, size_t size), (p, size))

/* With size 0, realloc may free the block, or return another one. */
void *HOOK_OF(realloc)(void *old, size_t size);
void *HOOK_OF(realloc)(void *old, size_t size)
{
    void *(*function)(void *, size_t) = other_next[OTHER_realloc];
    struct thread *t = thread_enter();
    if (UNLIKELY(!t))
        return function(old, size);
    event_prefetch(t, CALLER());
    if (old)
        size ? event_realloc(t, old, asked(), FREE_MAYBE) : event_free(t, old, asked(), FREE_MAYBE);
    void *p = function(old, size);
    if (UNLIKELY(!p)) {
        if (old && size)
            event_realloc_failed(t);
    } else if (UNLIKELY(!record(t, p, size, CALLER())) && old) {
        note_unrecorded(t);
    }
    thread_leave();
    return p;
}

int HOOK_OF(posix_memalign)(void **out, size_t alignment, size_t size);
int HOOK_OF(posix_memalign)(void **out, size_t alignment, size_t size)
{
    int (*function)(void **, size_t, size_t) = other_next[OTHER_posix_memalign];
    struct thread *t = thread_enter();
    int result = function(out, alignment, size);
    if (UNLIKELY(!t))
        return result;
    if (result == 0 && *out)
        record(t, *out, size, CALLER());
    thread_leave();
    return result;
}

/* jemalloc's */
ALLOCATING(mallocx, size, (size_t size, int flags), (size, flags))
REALLOCATING(rallocx, size, (void *old, size_t size, int flags), (old, size, flags))
FREEING(dallocx, (void *p, int flags), (p, flags))
FREEING(sdallocx, (void *p, size_t size, int flags), (p, size, flags))

/* In place; it returns the size of the block afterwards. */
size_t HOOK_OF(xallocx)(void *p, size_t size, size_t extra, int flags);
size_t HOOK_OF(xallocx)(void *p, size_t size, size_t extra, int flags)
{
    size_t (*function)(void *, size_t, size_t, int) = other_next[OTHER_xallocx];
    struct thread *t = thread_enter();
    if (UNLIKELY(!t))
        return function(p, size, extra, flags);
    event_prefetch(t, CALLER());
    event_realloc(t, p, asked(), FREE_MAYBE);
    size_t room = function(p, size, extra, flags);
    size_t most = extra <= SIZE_MAX - size ? size + extra : SIZE_MAX;
    if (room < size) {
        event_realloc_failed(t);
    } else if (UNLIKELY(!record(t, p, room < most ? room : most, CALLER()))) {
        note_unrecorded(t);
    }
    thread_leave();
    return room;
}

/* mimalloc's */
ALLOCATING(malloc_small, size, (size_t size), (size))
ALLOCATING(zalloc_small, size, (size_t size), (size))
ALLOCATING(zalloc, size, (size_t size), (size))
ALLOCATING(mallocn, count *size, (size_t count, size_t size), (count, size))
ALLOCATING(malloc_aligned, size, (size_t size, size_t alignment), (size, alignment))
ALLOCATING(zalloc_aligned, size, (size_t size, size_t alignment), (size, alignment))
ALLOCATING(calloc_aligned, count *size, (size_t count, size_t size, size_t alignment),
           (count, size, alignment))
REALLOCATING(reallocn, count *size, (void *old, size_t count, size_t size), (old, count, size))
REALLOCATING(rezalloc, size, (void *old, size_t size), (old, size))
REALLOCATING(recalloc, count *size, (void *old, size_t count, size_t size), (old, count, size))
REALLOCATING(realloc_aligned, size, (void *old, size_t size, size_t alignment),
             (old, size, alignment))
FREEING(free_size, (void *p, size_t size), (p, size))
FREEING(free_aligned, (void *p, size_t alignment), (p, alignment))
FREEING(free_size_aligned, (void *p, size_t size, size_t alignment), (p, size, alignment))

static size_t length_of(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n])
        n++;
    return n;
}

ALLOCATING(strdup, length_of(text, SIZE_MAX) + 1, (const char *text), (text))
ALLOCATING(strndup, length_of(text, most) + 1, (const char *text, size_t most), (text, most))

/* Firefox's, which also has malloc itself */
ALLOCATING(arena_malloc, size, (size_t arena, size_t size), (arena, size))
ALLOCATING(arena_calloc, count *size, (size_t arena, size_t count, size_t size),
           (arena, count, size))
ALLOCATING(arena_memalign, size, (size_t arena, size_t alignment, size_t size),
           (arena, alignment, size))
REALLOCATING(arena_realloc, size, (size_t arena, void *old, size_t size), (arena, old, size))
FREEING(arena_free, (size_t arena, void *p), (arena, p))
