/*
 * python_objects: wraps CPython's own allocators (run --python=objects).
 *
 *   python_objects.c       wraps the allocators, and again after the program replaced them
 *   hooks_python_objects.c the functions of the wrappers
 *
 * CPython allocates through three tables of functions (raw, mem and obj), which its own
 * PyMem_SetAllocator changes. Our functions call the previous ones, and record the result as the
 * hooks of malloc do: a block of Python is a block of the heap. If the previous function calls
 * malloc, that call is not counted again. Arenas are recorded as mappings, as always.
 *
 * There are WRAPPERS sets of functions, and each set always calls the same allocator. The context
 * in CPython's table stays the context of that allocator. So if a thread reads a table while it is
 * being changed, and gets an old function with a new context or the reverse, it still passes the
 * right context.
 *
 * With wrappers we see every free of an object, also of code objects. As long as no code object is
 * freed, an address identifies the code object that was seen there (python_codes). The same is true
 * without wrappers if CPython's allocator of objects only calls malloc and free, as with
 * PYTHONMALLOC=malloc.
 *
 * [malloc-free]; wrapping takes the interpreter's lock of its tables, where it has one.
 */
#ifndef TIDE_RECORD_PYTHON_OBJECTS_H
#define TIDE_RECORD_PYTHON_OBJECTS_H

#include "record/python_layout.h"
#include "record/recorder.h"

/* PyMemAllocatorEx */
struct python_allocator {
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};

/* How to find the usable size of a block. */
enum python_room {
    ROOM_UNKNOWN,
    ROOM_MALLOC, /* the block comes from malloc */
    ROOM_POOLS   /* up to PYTHON_SMALL bytes in pools of one size each; larger ones from `raw` */
};
#define PYTHON_SMALL 512

#define WRAPPERS 8

struct python_wrapper {
    struct python_allocator next; /* malloc is NULL: not in use */
    enum python_room room;
};
extern struct python_wrapper python_wrappers[WRAPPERS];
/* The functions of each wrapper; context is NULL. */
extern const struct python_allocator python_hooks[WRAPPERS];

enum { PYTHON_RAW, PYTHON_MEM, PYTHON_OBJ, PYTHON_DOMAINS };

/* The interpreter's own functions; NULL: it does not have them. */
struct python_tables {
    void (*get)(int, struct python_allocator *);
    void (*set)(int, struct python_allocator *);
    int (*is_initialized)(void);
};

/* Wraps the allocators that are not wrapped yet; false: this is not possible. `code_type` is the
 * type of code objects, whose frees are watched. */
bool python_objects_wrap(const struct python_tables *tables, uint64_t code_type);
/* Watches the frees of code objects without wrapping, if the hook of free sees the free of every
 * object. Call it when there are objects. */
void python_objects_watch(const struct python_tables *tables, uint64_t code_type);
/* The interpreter ends: the next one may use another allocator. */
void python_objects_unwatch(void);

/*
 * Which objects are watched. A program may replace the allocator of objects before there are any
 * objects. Later it may only add a wrapper that passes every block on, because each block must be
 * freed by the allocator that made it. So it is enough to wrap the allocator when there are
 * objects.
 */
struct python_codes {
    _Atomic uint64_t type; /* type of the watched objects; PYTHON_UNWATCHED: none are watched */
    _Atomic uint64_t era;  /* changes when a code object is freed; never 0 */
};
extern struct python_codes python_codes;
#define PYTHON_UNWATCHED UINT64_C(1)

/* The current era of code objects; 0: they are not watched. */
static inline uint64_t python_era(void)
{
    if (atomic_load_explicit(&python_codes.type, memory_order_acquire) == PYTHON_UNWATCHED)
        return 0;
    return atomic_load_explicit(&python_codes.era, memory_order_acquire);
}

/* Call it before a block is freed that may be an object. The block may be smaller than an object;
 * then this reads bytes of the next block, but never beyond the page. */
static inline void python_before_free(const void *object)
{
    uint64_t type =
        *(const volatile uint64_t *)(((uintptr_t)object & ~(uintptr_t)15) + PYTHON_TYPE);
    if (UNLIKELY(type == atomic_load_explicit(&python_codes.type, memory_order_relaxed)))
        atomic_fetch_add_explicit(&python_codes.era, 1, memory_order_release);
}

#endif
