/*
 * nested_ranges: which number owns an address, for ranges that may nest and overlap.
 *
 * Add ranges in any order with nested_ranges_add, call nested_ranges_flatten once, then
 * nested_ranges_find as often as needed. Flattening divides the ranges into disjoint pieces, each
 * owned by the range that starts last (the innermost, if they nest); of equal ranges the one with
 * the highest number wins.
 *
 * Invariant after nested_ranges_flatten: items are sorted, disjoint and not empty; at most twice as
 * many as were added. {0} is empty, nested_ranges_release frees. Not thread-safe while it is
 * changed.
 */
#ifndef TIDE_SYMBOL_NESTED_RANGES_H
#define TIDE_SYMBOL_NESTED_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct span {
    uint64_t low, high; /* high is the first address after it */
    uint32_t owner;
};

struct spans {
    struct span *items;
    size_t count, capacity;
};

void nested_ranges_add(struct spans *s, uint64_t low, uint64_t high,
                       uint32_t owner); /* empty ones are ignored */
void nested_ranges_flatten(struct spans *s);
const struct span *nested_ranges_find(const struct spans *s,
                                      uint64_t address); /* NULL: none covers it */
/* The first piece that ends after `address`, whether it covers it or not; NULL: none. */
const struct span *nested_ranges_from(const struct spans *s, uint64_t address);
void nested_ranges_release(struct spans *s);

#endif
