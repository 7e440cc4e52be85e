/*
 * The functions that replace CPython's allocators (python_objects.h). Compiled with frame pointers
 * (CALLER()).
 */
#include "record/python_objects.h"

struct python_wrapper python_wrappers[WRAPPERS];

static inline __attribute__((always_inline)) bool record(struct thread *t,
                                                         const struct python_wrapper *w, void *p,
                                                         size_t size, const uint64_t *caller)
{
    if (LIKELY(w->room == ROOM_POOLS && size <= PYTHON_SMALL))
        return event_alloc_stored(t, p, size, size ? (size + 15) & ~(size_t)15 : 16, caller);
    bool of_malloc = w->room == ROOM_MALLOC || (w->room == ROOM_POOLS && p == tls.malloced);
    bool asked = of_malloc && next.malloc_usable_size;
    return event_alloc_stored(t, p, size, asked ? next.malloc_usable_size(p) : size, caller);
}

/* Inside another wrapper: that one decides whether the block is malloc's. */
static inline __attribute__((always_inline)) void *beneath(const struct python_wrapper *w, void *p)
{
    if (w->room == ROOM_MALLOC)
        tls.malloced = p;
    return p;
}

#define ALLOCATE(w, call, size)                                                                    \
    do {                                                                                           \
        struct thread *t = thread_enter();                                                         \
        if (UNLIKELY(!t))                                                                          \
            return beneath(w, (call));                                                             \
        event_prefetch(t, CALLER());                                                               \
        tls.malloced = NULL;                                                                       \
        tls.beneath = BENEATH_ALLOC;                                                               \
        void *p = (call);                                                                          \
        tls.beneath = BENEATH_NOTHING;                                                             \
        if (LIKELY(p != NULL))                                                                     \
            record(t, w, p, (size), CALLER());                                                     \
        thread_leave();                                                                            \
        return p;                                                                                  \
    } while (0)

static inline __attribute__((always_inline)) void *hook_malloc(const struct python_wrapper *w,
                                                               void *context, size_t size)
{
    ALLOCATE(w, w->next.malloc(context, size), size);
}

static inline __attribute__((always_inline)) void *
hook_calloc(const struct python_wrapper *w, void *context, size_t count, size_t size)
{
    ALLOCATE(w, w->next.calloc(context, count, size), count * size);
}

static inline __attribute__((always_inline)) void *
hook_realloc(const struct python_wrapper *w, void *context, void *old, size_t size)
{
    struct thread *t = thread_enter();
    if (UNLIKELY(!t)) {
        free_beneath(old, NULL);
        return beneath(w, w->next.realloc(context, old, size));
    }
    event_prefetch(t, CALLER());
    bool known = old && event_realloc(t, old, NULL, FREE_MAYBE);
    tls.around = known ? old : NULL; /* otherwise malloc knows it, from before it was wrapped */
    tls.malloced = NULL;
    tls.beneath = old ? BENEATH_REALLOC : BENEATH_ALLOC;
    void *p = w->next.realloc(context, old, size);
    tls.beneath = BENEATH_NOTHING;
    if (LIKELY(p != NULL)) {
        if (UNLIKELY(!record(t, w, p, size, CALLER())) && old)
            note_unrecorded(t);
    } else {
        if (old)
            event_realloc_failed(t); /* with size 0 too: CPython never frees by realloc */
    }
    thread_leave();
    return p;
}

static inline __attribute__((always_inline)) void hook_free(const struct python_wrapper *w,
                                                            void *context, void *p)
{
    if (p && LIKELY(w->room == ROOM_POOLS))
        python_before_free(p);
    struct thread *t = p ? thread_enter() : NULL;
    if (UNLIKELY(!t)) {
        free_beneath(p, NULL);
        w->next.free(context, p);
        return;
    }
    tls.around = event_free(t, p, NULL, FREE_MAYBE) ? p : NULL;
    atomic_signal_fence(memory_order_seq_cst); /* the event is complete, for what a handler adds */
    tls.beneath = BENEATH_FREE;
    w->next.free(context, p);
    tls.beneath = BENEATH_NOTHING;
    thread_leave();
}

#define WRAPPER(n)                                                                                 \
    static void *malloc_##n(void *context, size_t size)                                            \
    {                                                                                              \
        return hook_malloc(&python_wrappers[n], context, size);                                    \
    }                                                                                              \
    static void *calloc_##n(void *context, size_t count, size_t size)                              \
    {                                                                                              \
        return hook_calloc(&python_wrappers[n], context, count, size);                             \
    }                                                                                              \
    static void *realloc_##n(void *context, void *old, size_t size)                                \
    {                                                                                              \
        return hook_realloc(&python_wrappers[n], context, old, size);                              \
    }                                                                                              \
    static void free_##n(void *context, void *p)                                                   \
    {                                                                                              \
        hook_free(&python_wrappers[n], context, p);                                                \
    }

WRAPPER(0)
WRAPPER(1)
WRAPPER(2)
WRAPPER(3)
WRAPPER(4)
WRAPPER(5)
WRAPPER(6)
WRAPPER(7)

#define HOOKS(n)                                                                                   \
    {                                                                                              \
        .malloc = malloc_##n, .calloc = calloc_##n, .realloc = realloc_##n, .free = free_##n       \
    }

const struct python_allocator python_hooks[WRAPPERS] = {HOOKS(0), HOOKS(1), HOOKS(2), HOOKS(3),
                                                        HOOKS(4), HOOKS(5), HOOKS(6), HOOKS(7)};
