/*
 * other_names: hooks allocation functions that do not have the names of malloc's family.
 *
 * An allocator may have functions of its own (jemalloc's mallocx, mimalloc's mi_malloc, tcmalloc's
 * tc_malloc, Firefox's moz_arena_malloc), or coexist with malloc, with a prefix to all its names
 * (jemalloc in Rust programs and in databases). If we exported such names, programs that look for
 * the allocator would believe that it is loaded. So we replace the first bytes of these functions,
 * as in entry_patch.h, in the file that defines them: all or none, once, while there is one thread;
 * in a library only if another file calls them, or if one of them is the program's strdup (mimalloc
 * 3). Heaps that are destroyed as a whole (mi_heap_...) are not hooked.
 */
#ifndef TIDE_RECORD_OTHER_NAMES_H
#define TIDE_RECORD_OTHER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The functions, by their name after the prefix. Two names of one function count once. */
#define OTHER_FUNCTIONS(F)                                                                         \
    F(malloc)                                                                                      \
    F(free)                                                                                        \
    F(calloc)                                                                                      \
    F(realloc)                                                                                     \
    F(posix_memalign)                                                                              \
    F(aligned_alloc)                                                                               \
    F(memalign)                                                                                    \
    F(valloc)                                                                                      \
    F(pvalloc)                                                                                     \
    F(reallocarray)                                                                                \
    F(free_sized)                                                                                  \
    F(mallocx)                                                                                     \
    F(rallocx)                                                                                     \
    F(xallocx)                                                                                     \
    F(dallocx)                                                                                     \
    F(sdallocx)                                                                                    \
    F(malloc_small)                                                                                \
    F(zalloc_small)                                                                                \
    F(zalloc)                                                                                      \
    F(mallocn)                                                                                     \
    F(reallocn)                                                                                    \
    F(rezalloc)                                                                                    \
    F(recalloc)                                                                                    \
    F(malloc_aligned)                                                                              \
    F(zalloc_aligned)                                                                              \
    F(calloc_aligned)                                                                              \
    F(realloc_aligned)                                                                             \
    F(free_size)                                                                                   \
    F(free_aligned)                                                                                \
    F(free_size_aligned)                                                                           \
    F(strdup)                                                                                      \
    F(strndup)                                                                                     \
    F(arena_malloc)                                                                                \
    F(arena_calloc)                                                                                \
    F(arena_realloc)                                                                               \
    F(arena_memalign)                                                                              \
    F(arena_free)

/* The original functions, by number. */
enum other_function {
#define OTHER_NUMBER(name) OTHER_##name,
    OTHER_FUNCTIONS(OTHER_NUMBER)
#undef OTHER_NUMBER
        OTHER_COUNT
};
extern void *other_next[OTHER_COUNT];

/* Returns the usable size of a block; NULL: the allocator has no such function. */
extern size_t (*other_usable)(const void *);

void other_names_take_over(void); /* once, after own_malloc_take_over */
bool other_names_taken_over(void);

#endif
