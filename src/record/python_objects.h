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
 * [malloc-free]; wrapping takes the interpreter's lock of its tables, where it has one.
 */
#ifndef TIDE_RECORD_PYTHON_OBJECTS_H
#define TIDE_RECORD_PYTHON_OBJECTS_H

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

/* Wraps what is not wrapped; false: it cannot be. */
bool python_objects_wrap(const struct python_tables *tables);

#endif
