/*
 * python_objects: CPython's own allocators, wrapped (run --python=objects).
 *
 *   python_objects.c  when they are wrapped, and again when somebody replaced them
 *   hooks_python.c    the functions that take their place
 *
 * CPython allocates through three tables of functions (raw, mem and obj), which its own
 * PyMem_SetAllocator changes. Ours call what was there before, and record what came of it as the
 * hooks of malloc do: a block of Python is one of the heap. What the interpreter calls beneath
 * (malloc, mmap) is then part of that block: malloc is not counted again; arenas are mappings as
 * always.
 *
 * A wrapper is one of WRAPPERS sets of functions, each with the allocator that it calls fixed. The
 * context that CPython hands over is that allocator's own: so a thread that reads a table while it
 * is changed, half of it old, half new, still calls functions with what they expect.
 *
 * Objects cannot go away without our seeing it then, code objects among them: while none does, what
 * is remembered of one is true of whatever is at its address (python_codes). So it is without any
 * wrapper where CPython's allocator of objects does nothing but call malloc and free, as it does
 * with PYTHONMALLOC=malloc.
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

/* What is known of the room behind a block. */
enum python_room {
    ROOM_UNKNOWN,
    ROOM_MALLOC, /* it is malloc's */
    ROOM_POOLS /* up to PYTHON_SMALL bytes in pools of one size each, then who serves `raw` knows */
};
#define PYTHON_SMALL 512

#define WRAPPERS 8

struct python_wrapper {
    struct python_allocator next; /* malloc is NULL: not in use */
    enum python_room room;
};
extern struct python_wrapper python_wrappers[WRAPPERS];
extern const struct python_allocator python_hooks[WRAPPERS]; /* their functions; no context */

enum { PYTHON_RAW, PYTHON_MEM, PYTHON_OBJ, PYTHON_DOMAINS };

/* The interpreter's own functions; NULL: it does not have them. */
struct python_tables {
    void (*get)(int, struct python_allocator *);
    void (*set)(int, struct python_allocator *);
    int (*is_initialized)(void);
};

/* Wraps what is not wrapped; false: it cannot be. `code_type`: of the objects to watch. */
bool python_objects_wrap(const struct python_tables *tables, uint64_t code_type);
/* The same without wrapping, if the hook of free sees every object go. There are objects. */
void python_objects_watch(const struct python_tables *tables, uint64_t code_type);
void python_objects_unwatch(void); /* they end: who allocates the next ones is not known */

/*
 * The allocator of objects may be replaced before there are any; later only by one that hands every
 * block on, as they must come back to whom they are from. So wrapping it then is enough.
 */
struct python_codes {
    _Atomic uint64_t type; /* of what is watched; PYTHON_UNWATCHED: nothing is */
    _Atomic uint64_t era;  /* another one begins when a code object goes away; never 0 */
};
extern struct python_codes python_codes;
#define PYTHON_UNWATCHED UINT64_C(1)

/* 0: code objects are not watched. */
static inline uint64_t python_era(void)
{
    if (atomic_load_explicit(&python_codes.type, memory_order_acquire) == PYTHON_UNWATCHED)
        return 0;
    return atomic_load_explicit(&python_codes.era, memory_order_acquire);
}

/* Before a block is freed that may be an object. It may be less than one, so that what is read may
 * be its neighbour's, but not beyond its page. */
static inline void python_before_free(const void *object)
{
    uint64_t type =
        *(const volatile uint64_t *)(((uintptr_t)object & ~(uintptr_t)15) + PYTHON_TYPE);
    if (UNLIKELY(type == atomic_load_explicit(&python_codes.type, memory_order_relaxed)))
        atomic_fetch_add_explicit(&python_codes.era, 1, memory_order_release);
}

#endif
