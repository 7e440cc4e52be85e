#include "collect/naming/sampled_maps.h"

#include <string.h>

/* The index of the first mapping that ends after `address`. */
static size_t index_of(const struct sampled_maps *m, uint64_t address)
{
    size_t at;
    BISECT(at, m->items.count, m->items.items[at].end <= address);
    return at;
}

static void insert(struct sampled_maps *m, size_t at, struct sampled_map new)
{
    vec_push(&m->items);
    memmove(&m->items.items[at + 1], &m->items.items[at],
            (m->items.count - 1 - at) * sizeof *m->items.items);
    m->items.items[at] = new;
}

static bool is_same(const struct sampled_map *a, const struct sampled_map *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset && a->file == b->file;
}

bool sampled_maps_add(struct sampled_maps *m, struct sampled_map new)
{
    bool code = false;
    size_t i = index_of(m, new.start);
    new.epoch = SAMPLE_EPOCH;
    while (i < m->items.count && m->items.items[i].start < new.end) {
        struct sampled_map *old = &m->items.items[i];
        if (old->file && is_same(old, &new))
            return false; /* the kernel reports a mapping again when its protection changes */
        if (old->file || new.file) {
            code |= old->file != NULL;
            if (old->epoch >= new.epoch)
                new.epoch = old->epoch + 1;
        }
        if (old->end > new.end) { /* the rest of the old mapping, after the new one */
            struct sampled_map rest = *old;
            rest.offset += new.end - old->start;
            rest.start = new.end;
            if (old->start < new.start)
                old->end = new.start;
            else
                memmove(old, old + 1, (--m->items.count - i) * sizeof *old);
            i += i < m->items.count && m->items.items[i].start < new.start;
            insert(m, i, rest);
            break;
        }
        if (old->start < new.start) {
            old->end = new.start;
            i++;
        } else {
            memmove(old, old + 1, (--m->items.count - i) * sizeof *old);
        }
    }
    if (new.epoch > LAST_EPOCH)
        new.epoch = LAST_EPOCH;
    insert(m, i, new);
    return code;
}

struct sampled_map *sampled_maps_find(const struct sampled_maps *m, uint64_t address)
{
    size_t i = index_of(m, address);
    return i < m->items.count && m->items.items[i].start <= address ? &m->items.items[i] : NULL;
}

void sampled_maps_copy(struct sampled_maps *to, const struct sampled_maps *from)
{
    to->items.count = 0;
    for (size_t i = 0; i < from->items.count; i++) {
        struct sampled_map *m = vec_push(&to->items);
        *m = from->items.items[i];
        m->known = false;
    }
}
