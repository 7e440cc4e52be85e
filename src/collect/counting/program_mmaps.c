#include "collect/counting/program_mmaps.h"

#include <string.h>

/* The index of the first range that ends after `address`. */
static size_t range_after(const struct program_mmaps *r, uint64_t address)
{
    size_t at;
    BISECT(at, r->items.count, r->items.items[at].end <= address);
    return at;
}

const struct program_mmap *program_mmaps_holding(const struct program_mmaps *r, uint64_t address)
{
    size_t i = range_after(r, address);
    return i < r->items.count && r->items.items[i].start <= address ? &r->items.items[i] : NULL;
}

static void insert_at(struct program_mmaps *r, size_t at, struct program_mmap range)
{
    vec_push(&r->items);
    memmove(&r->items.items[at + 1], &r->items.items[at], (r->items.count - 1 - at) * sizeof range);
    r->items.items[at] = range;
}

/*
 * A block is a mapping made by one call; unmapping one of its ends makes it smaller. A hole in the
 * middle makes two blocks of it, the second of which adds no bytes.
 */
void program_mmaps_unmap(struct program_mmaps *r, struct ledger *l, uint64_t start, uint64_t size,
                         struct cuts *cuts)
{
    uint64_t end = start + size;
    if (cuts)
        cuts->items.count = 0;
    if (end <= start)
        return; /* nothing, or nonsense */
    size_t i = range_after(r, start);
    while (i < r->items.count && r->items.items[i].start < end) {
        struct program_mmap *old = &r->items.items[i];
        uint64_t old_end = old->end;
        uint32_t account = old->account;
        bool left = old->start<start, right = old_end> end;
        if (cuts)
            *vec_push(&cuts->items) =
                (struct cut){.range = {left ? start : old->start, right ? end : old_end, account},
                             .whole = !left && !right};
        if (!left && !right) {
            ledger_free(l, account, old_end - old->start, old_end - old->start, false);
            memmove(old, old + 1, (r->items.count - 1 - i) * sizeof *old);
            r->items.count--;
            continue;
        }
        ledger_shrink(l, account, (right ? end : old_end) - (left ? start : old->start));
        if (left)
            old->end = start;
        else
            old->start = end;
        if (left && right) {
            ledger_alloc(l, account, 0, 0, false);
            insert_at(r, i + 1, (struct program_mmap){end, old_end, account});
        }
        i++;
    }
}

void program_mmaps_put_back(struct program_mmaps *r, struct ledger *l, struct cuts *cuts)
{
    for (size_t i = 0; i < cuts->items.count; i++) {
        struct cut cut = cuts->items.items[i];
        size_t at = range_after(r, cut.range.start);
        uint64_t size = cut.range.end - cut.range.start;
        if (at < r->items.count && r->items.items[at].start < cut.range.end)
            continue; /* something else is there: damage */
        if (cut.whole) {
            ledger_unfree(l, cut.range.account, size, size);
        } else {
            ledger_alloc(l, cut.range.account, 0, 0, false);
            ledger_unshrink(l, cut.range.account, size);
        }
        insert_at(r, at, cut.range);
    }
    cuts->items.count = 0;
}

void program_mmaps_map(struct program_mmaps *r, struct ledger *l, uint64_t start, uint64_t size,
                       uint32_t account)
{
    if (!size || start + size < start)
        return;
    program_mmaps_unmap(r, l, start, size, NULL); /* MAP_FIXED over something */
    ledger_alloc(l, account, size, size, false);
    insert_at(r, range_after(r, start), (struct program_mmap){start, start + size, account});
}

void program_mmaps_release(struct program_mmaps *r)
{
    vec_release(&r->items);
}
