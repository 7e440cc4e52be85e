#include "collect/proc/address_set.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct address_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

void address_set_settle(struct address_set *s)
{
    size_t n = 0;
    if (s->items.count)
        qsort(s->items.items, s->items.count, sizeof *s->items.items, by_start);
    for (size_t i = 0; i < s->items.count; i++) {
        struct address_range next = s->items.items[i];
        struct address_range *last = n ? &s->items.items[n - 1] : NULL;
        if (last && next.start <= last->end)
            last->end = next.end > last->end ? next.end : last->end;
        else
            s->items.items[n++] = next;
    }
    s->items.count = n;
}

size_t address_set_find(const struct address_set *s, uint64_t address)
{
    size_t at;
    BISECT(at, s->items.count, s->items.items[at].end <= address);
    return at;
}

void address_set_inside(const struct address_set *s, uint64_t start, uint64_t end,
                        struct address_set *out)
{
    for (size_t i = address_set_find(s, start); i < s->items.count && s->items.items[i].start < end;
         i++) {
        struct address_range here = s->items.items[i];
        address_set_add(out, here.start > start ? here.start : start,
                        here.end < end ? here.end : end);
    }
}

void address_set_outside(const struct address_set *s, uint64_t start, uint64_t end,
                         struct address_set *out)
{
    for (size_t i = address_set_find(s, start); i < s->items.count && s->items.items[i].start < end;
         i++) {
        address_set_add(out, start, s->items.items[i].start);
        start = s->items.items[i].end;
    }
    address_set_add(out, start, end);
}
