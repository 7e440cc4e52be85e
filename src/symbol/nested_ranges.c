#include "symbol/nested_ranges.h"

#include <stdbool.h>

#include "base/vec.h"

void nested_ranges_add(struct spans *s, uint64_t low, uint64_t high, uint32_t owner)
{
    if (low < high)
        *vec_push(s) = (struct span){low, high, owner};
}

/* Outer before inner: of two spans that cover an address, nested_ranges_flatten takes the later. */
static int span_compare(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high > b->high ? -1 : 1;
    return a->owner < b->owner ? -1 : a->owner > b->owner;
}

static void piece_add(struct spans *pieces, uint64_t low, uint64_t high, uint32_t owner)
{
    if (low >= high)
        return;
    struct span *last = pieces->count ? vec_last(pieces) : NULL;
    if (last && last->owner == owner && last->high == low)
        last->high = high;
    else
        nested_ranges_add(pieces, low, high, owner);
}

static bool is_sorted(const struct spans *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (span_compare(&s->items[i - 1], &s->items[i]) > 0)
            return false;
    return true;
}

void nested_ranges_flatten(struct spans *s)
{
    if (!is_sorted(s))
        qsort(s->items, s->count, sizeof *s->items, span_compare);
    struct spans pieces = {0}, open = {0};
    uint64_t done = 0; /* everything below is already divided into pieces */
    for (size_t i = 0; i <= s->count; i++) {
        uint64_t low = i < s->count ? s->items[i].low : UINT64_MAX;
        while (open.count && vec_last(&open)->high <= low) {
            struct span top = open.items[--open.count];
            piece_add(&pieces, done, top.high, top.owner);
            done = done > top.high ? done : top.high;
        }
        if (i == s->count)
            break;
        if (open.count)
            piece_add(&pieces, done, low, vec_last(&open)->owner);
        done = low;
        *vec_push(&open) = s->items[i];
    }
    vec_release(&open);
    vec_release(s);
    *s = pieces;
    if (s->count)
        vec_shrink(s, s->count);
}

const struct span *nested_ranges_from(const struct spans *s, uint64_t address)
{
    size_t at;
    BISECT(at, s->count, s->items[at].high <= address);
    return at < s->count ? &s->items[at] : NULL;
}

const struct span *nested_ranges_find(const struct spans *s, uint64_t address)
{
    const struct span *found = nested_ranges_from(s, address);
    return found && found->low <= address ? found : NULL;
}

void nested_ranges_release(struct spans *s)
{
    vec_release(s);
}
