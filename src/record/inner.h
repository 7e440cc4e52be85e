/*
 * inner: allocation functions beside malloc that a program calls by other names.
 *
 * An allocator may have functions of its own (jemalloc's mallocx, mimalloc's mi_malloc, tcmalloc's
 * tc_malloc), or be one that lives beside malloc, with a prefix to all its names (jemalloc in Rust
 * programs and in databases). To export such names would make programs that look for the allocator
 * believe that it is there. So the functions' first bytes are replaced, as entry.h says, in the
 * file that defines them. All or none, once, while there is one thread.
 *
 * Left alone: heaps that are destroyed whole (mi_heap_...).
 */
#ifndef TIDE_RECORD_INNER_H
#define TIDE_RECORD_INNER_H

#include <stdbool.h>
#include <stddef.h>

/* By the name behind the prefix. Two names of one function are one. */
#define INNER_FUNCTIONS(F)                                                                         \
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
    F(strndup)

/* What was there before, by number. */
enum inner_function {
#define INNER_NUMBER(name) INNER_##name,
    INNER_FUNCTIONS(INNER_NUMBER)
#undef INNER_NUMBER
        INNER_COUNT
};
extern void *inner_next[INNER_COUNT];

/* How much of a block can be used; NULL: not to be asked. */
extern size_t (*inner_usable)(const void *);

void inner_take_over(void); /* once, after entry_take_over */
bool inner_taken_over(void);

#endif
