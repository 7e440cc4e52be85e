#include "collect/histogram.h"

#include <stdlib.h>

#include "base/err.h"

#define PLACES_LEAST 16

void histogram_init(struct histogram *h)
{
    *h = (struct histogram){.cells = xcalloc(PLACES_LEAST, sizeof *h->cells),
                            .mask = PLACES_LEAST - 1};
}

static struct histogram_cell *place(const struct histogram *h, uint64_t key)
{
    size_t at = histogram_home(h, key);
    while (h->cells[at].key != key && h->cells[at].key)
        at = (at + 1) & h->mask;
    return &h->cells[at];
}

static void grow(struct histogram *h)
{
    struct histogram old = *h;
    h->mask = old.mask * 2 + 1;
    h->cells = xcalloc(h->mask + 1, sizeof *h->cells);
    for (size_t i = 0; i <= old.mask; i++)
        if (old.cells[i].key)
            *place(h, old.cells[i].key) = old.cells[i];
    free(old.cells);
}

void histogram_add_slowly(struct histogram *h, uint64_t key, uint64_t count, uint64_t bytes)
{
    struct histogram_cell *cell = place(h, key);
    if (!cell->key) {
        if (++h->used * 2 > h->mask) {
            grow(h);
            cell = place(h, key);
        }
        cell->key = key;
    }
    cell->count += count;
    cell->bytes += bytes;
}

void histogram_remove(struct histogram *h, enum histogram_of of, uint32_t site, unsigned bucket,
                      uint64_t count, uint64_t bytes)
{
    struct histogram_cell *cell = place(h, histogram_key(of, site, bucket));
    if (cell->key) {
        cell->count -= count;
        cell->bytes -= bytes;
    }
}

void histogram_rows(const struct histogram *h, enum histogram_of of, struct bucket_rows *out)
{
    for (size_t i = 0; i <= h->mask; i++) {
        const struct histogram_cell *c = &h->cells[i];
        if (c->count && (c->key >> 9 & 1) == of)
            *vec_push(out) = (struct bucket_row){.site = (uint32_t)(c->key >> 10),
                                                 .bucket = (uint32_t)(c->key >> 1 & 0xff),
                                                 .count = c->count,
                                                 .bytes = c->bytes};
    }
}

void histogram_release(struct histogram *h)
{
    free(h->cells);
    *h = (struct histogram){0};
}
