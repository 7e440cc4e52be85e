/*
 * operator new and delete, in all their forms.
 *
 * Those of the C++ runtime call malloc and free, which are hooked: they are only forwarded (a
 * jump). Allocators such as jemalloc and tcmalloc have their own, which do not: only for those, new
 * and delete are recorded here. The throwing forms then use the allocator's nothrow form, so that
 * no exception passes through an active hook; if that fails, or the program has set a new_handler,
 * the throwing form is called outside of the hook. A library loaded with RTLD_LOCAL may bring the
 * first C++ runtime of the process (callers_definition.h).
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "record/callers_definition.h"
#include "record/libc.h"
#include "record/recorder.h"
#include "record/routes.h"

enum owner { UNKNOWN, RUNTIME, ALLOCATOR };

/* For a form that is called through a route; or for one that is exported directly. */
#define BY_ROUTE_VISIBLE         INTERNAL
#define BY_ROUTE_SYMBOL(symbol)  ROUTED_SYMBOL(symbol)
#define BY_ROUTE_NUMBER(symbol)  (1 + WIRE_ROUTE_##symbol)
#define BY_EXPORT_VISIBLE        EXPORT
#define BY_EXPORT_SYMBOL(symbol) HOOK_SYMBOL(symbol)
#define BY_EXPORT_NUMBER(symbol) 0

struct form {
    const char *name;
    unsigned route; /* 1 + its number; 0: none */
    _Atomic(void *) function;
    _Atomic int owner;
};

/* The definition of the symbol that the caller at `pc` would have got without us. */
static void *form_find(struct form *f, uint64_t pc)
{
    void *function = atomic_load_explicit(&f->function, memory_order_acquire);
    if (LIKELY(function != NULL))
        return function;
    if (FROM_ENTRY) {
        atomic_store(&f->owner, ALLOCATOR);
        function = own_malloc_original(f->name);
        atomic_store_explicit(&f->function, function, memory_order_release);
        return function;
    }
    function = definition_of(f->name, pc);
    if (!function)
        return NULL;
    bool recorded = recorder_owns_allocations(function);
    atomic_store(&f->owner, recorded ? ALLOCATOR : RUNTIME);
    atomic_store_explicit(&f->function, function, memory_order_release);
    if (f->route)
        routes_found((enum wire_route)(f->route - 1), function, recorded);
    return function;
}

static inline bool form_recorded(const struct form *f)
{
    return atomic_load_explicit(&f->owner, memory_order_relaxed) == ALLOCATOR;
}

/*
 * Has the program set a new_handler? It may free, allocate and throw, which must be recorded, so
 * the allocator is then called outside of the hook; what it maps meanwhile counts as mapped.
 */
static bool new_handler_set(void)
{
    static _Atomic(void *) getter;
    static _Atomic bool looked;
    if (UNLIKELY(!atomic_load_explicit(&looked, memory_order_acquire))) {
        uintptr_t busy = tls.busy;
        tls.busy = (uintptr_t)__builtin_frame_address(0); /* dlsym may allocate */
        atomic_store(&getter, libc_default("_ZSt15get_new_handlerv"));
        tls.busy = busy;
        atomic_store(&looked, true);
    }
    void *get = atomic_load_explicit(&getter, memory_order_relaxed);
    return get && ((void *(*)(void))get)();
}

#define RETURN_ADDRESS ((uint64_t)(uintptr_t)__builtin_return_address(0))

/*
 * A form that is not found anywhere cannot have been called by C++ code that was linked properly;
 * then plain malloc and free are used, as any runtime does.
 */
#define NEW_FORM(by, symbol, nothrow_symbol, fallback, note, parameters, arguments,                \
                 nothrow_arguments)                                                                \
    by##_VISIBLE void *new##symbol parameters __asm__(by##_SYMBOL(#symbol));                       \
    void *new##symbol parameters                                                                   \
    {                                                                                              \
        static struct form form = {.name = #symbol, .route = by##_NUMBER(symbol)},                 \
                           nothrow = {.name = #nothrow_symbol};                                    \
        void *function = form_find(&form, RETURN_ADDRESS);                                         \
        if (UNLIKELY(!function))                                                                   \
            return fallback;                                                                       \
        if (LIKELY(!form_recorded(&form))) {                                                       \
            note;                                                                                  \
            return ((void *(*)parameters)function)arguments;                                       \
        }                                                                                          \
        void *safe = form_find(&nothrow, RETURN_ADDRESS);                                          \
        struct thread *t = safe && LIKELY(!new_handler_set()) ? thread_enter() : NULL;             \
        if (LIKELY(t != NULL)) {                                                                   \
            void *p = ((void *(*)(size_t, size_t, const void *))safe)nothrow_arguments;            \
            if (LIKELY(p != NULL))                                                                 \
                event_alloc(t, p, size, CALLER());                                                 \
            thread_leave();                                                                        \
            if (LIKELY(p != NULL))                                                                 \
                return p;                                                                          \
        }                                                                                          \
        void *p = ((void *(*)parameters)function)arguments; /* may throw: nothing is held */       \
        t = p ? thread_enter() : NULL;                                                             \
        if (t) {                                                                                   \
            event_alloc(t, p, size, CALLER());                                                     \
            thread_leave();                                                                        \
        }                                                                                          \
        return p;                                                                                  \
    }

/* std::nothrow is an empty object; only its address is passed, and never read. */
static const char no_throw;

#define PLAIN_FORM(symbol, nothrow)                                                                \
    NEW_FORM(BY_ROUTE, symbol, nothrow, malloc(size), (void)0, (size_t size), (size),              \
             (size, (size_t)&no_throw, NULL))
#define NOTHROW_FORM(symbol)                                                                       \
    NEW_FORM(BY_ROUTE, symbol, symbol, malloc(size), (void)0, (size_t size, const void *tag),      \
             (size, tag), (size, (size_t)tag, NULL))
#define ALIGNED_FORM(symbol, nothrow)                                                              \
    NEW_FORM(BY_EXPORT, symbol, nothrow, aligned_alloc(alignment, size), tls.wanted = size + 1,    \
             (size_t size, size_t alignment), (size, alignment), (size, alignment, &no_throw))
#define ALIGNED_NOTHROW_FORM(symbol)                                                               \
    NEW_FORM(BY_EXPORT, symbol, symbol, aligned_alloc(alignment, size), tls.wanted = size + 1,     \
             (size_t size, size_t alignment, const void *tag), (size, alignment, tag),             \
             (size, alignment, tag))

PLAIN_FORM(_Znwm, _ZnwmRKSt9nothrow_t)
PLAIN_FORM(_Znam, _ZnamRKSt9nothrow_t)
NOTHROW_FORM(_ZnwmRKSt9nothrow_t)
NOTHROW_FORM(_ZnamRKSt9nothrow_t)
ALIGNED_FORM(_ZnwmSt11align_val_t, _ZnwmSt11align_val_tRKSt9nothrow_t)
ALIGNED_FORM(_ZnamSt11align_val_t, _ZnamSt11align_val_tRKSt9nothrow_t)
ALIGNED_NOTHROW_FORM(_ZnwmSt11align_val_tRKSt9nothrow_t)
ALIGNED_NOTHROW_FORM(_ZnamSt11align_val_tRKSt9nothrow_t)

#define DELETE_FORM(by, symbol, parameters, arguments)                                             \
    by##_VISIBLE void delete##symbol parameters __asm__(by##_SYMBOL(#symbol));                     \
    void delete##symbol parameters                                                                 \
    {                                                                                              \
        static struct form form = {.name = #symbol, .route = by##_NUMBER(symbol)};                 \
        void *function = form_find(&form, RETURN_ADDRESS);                                         \
        if (UNLIKELY(!function)) {                                                                 \
            free(p);                                                                               \
            return;                                                                                \
        }                                                                                          \
        if (LIKELY(!form_recorded(&form))) {                                                       \
            ((void(*) parameters)function) arguments;                                              \
            return;                                                                                \
        }                                                                                          \
        struct thread *t = p ? thread_enter() : NULL;                                              \
        if (t)                                                                                     \
            event_free(t, p, next.malloc_usable_size, FREE_SURE);                                  \
        ((void(*) parameters)function) arguments;                                                  \
        if (t)                                                                                     \
            thread_leave();                                                                        \
    }

DELETE_FORM(BY_ROUTE, _ZdlPv, (void *p), (p))
DELETE_FORM(BY_ROUTE, _ZdaPv, (void *p), (p))
DELETE_FORM(BY_ROUTE, _ZdlPvm, (void *p, size_t size), (p, size))
DELETE_FORM(BY_ROUTE, _ZdaPvm, (void *p, size_t size), (p, size))
DELETE_FORM(BY_EXPORT, _ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE_FORM(BY_EXPORT, _ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE_FORM(BY_EXPORT, _ZdlPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
DELETE_FORM(BY_EXPORT, _ZdaPvSt11align_val_t, (void *p, size_t alignment), (p, alignment))
DELETE_FORM(BY_EXPORT, _ZdlPvmSt11align_val_t, (void *p, size_t size, size_t alignment),
            (p, size, alignment))
DELETE_FORM(BY_EXPORT, _ZdaPvmSt11align_val_t, (void *p, size_t size, size_t alignment),
            (p, size, alignment))
DELETE_FORM(BY_EXPORT, _ZdlPvSt11align_val_tRKSt9nothrow_t,
            (void *p, size_t alignment, const void *tag), (p, alignment, tag))
DELETE_FORM(BY_EXPORT, _ZdaPvSt11align_val_tRKSt9nothrow_t,
            (void *p, size_t alignment, const void *tag), (p, alignment, tag))
