/*
 * vec: a growing array of any type.
 *
 *     struct { struct row *items; size_t count, capacity; } rows = {0};
 *     *vec_push(&rows) = row;
 *     vec_release(&rows);
 *
 * Any struct with these three members works; use VEC(type) to declare one. Growth doubles, so a
 * pointer to an element is only good until the next push. Allocation failure exits (base/err.h).
 */
#ifndef TIDE_BASE_VEC_H
#define TIDE_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

static inline void *vec_grown(void *items, size_t *capacity, size_t wanted, size_t size)
{
    if (wanted <= *capacity)
        return items;
    size_t larger = *capacity ? *capacity * 2 : 16;
    if (larger < wanted)
        larger = wanted;
    *capacity = larger;
    return xrealloc(items, larger * size);
}

/* Makes room for at least `wanted` items in total. */
#define vec_reserve(v, wanted)                                                                     \
    ((v)->items = vec_grown((v)->items, &(v)->capacity, (wanted), sizeof *(v)->items))

/* A pointer to one new item, not initialised. */
#define vec_push(v) (vec_reserve(v, (v)->count + 1), &(v)->items[(v)->count++])

/* Keeps the first `kept` items, in no more memory than they need; `kept` must not be 0. */
#define vec_shrink(v, kept)                                                                        \
    ((v)->count = (v)->capacity = (kept),                                                          \
     (v)->items = xrealloc((v)->items, (v)->count * sizeof *(v)->items))

#define vec_last(v) (&(v)->items[(v)->count - 1])

/* Thinning out drops every second item, except the first and the last. */
static inline bool thinning_keeps(size_t i, size_t count)
{
    return i % 2 == 0 || i + 1 == count;
}

static inline size_t vec_thinned(char *items, size_t count, size_t size)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (thinning_keeps(i, count))
            memmove(items + kept++ * size, items + i * size, size);
    return kept;
}
#define vec_thin_out(v)                                                                            \
    ((v)->count = vec_thinned((char *)(v)->items, (v)->count, sizeof *(v)->items))

/* Sets `at` to the number of items, from the first on, for which the expression `before` (of `at`)
 * holds. It must not hold for an item after one for which it does not. */
#define BISECT(at, count, before)                                                                  \
    do {                                                                                           \
        size_t low_ = 0, high_ = (count);                                                          \
        while (low_ < high_) {                                                                     \
            (at) = low_ + (high_ - low_) / 2;                                                      \
            if (before)                                                                            \
                low_ = (at) + 1;                                                                   \
            else                                                                                   \
                high_ = (at);                                                                      \
        }                                                                                          \
        (at) = low_;                                                                               \
    } while (0)

#define vec_release(v) (free((v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

#endif
