#include "collect/counting/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define PLACES_LEAST 16

static struct histogram_cell *make_cells(size_t count)
{
    struct histogram_cell *cells = xtable(count * sizeof *cells);
    memset(cells, 0, count * sizeof *cells);
    return cells;
}

void histogram_init(struct histogram *h)
{
    *h = (struct histogram){.cells = make_cells(PLACES_LEAST), .mask = PLACES_LEAST - 1};
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
    h->cells = make_cells(h->mask + 1);
    for (size_t i = 0; i <= old.mask; i++)
        if (old.cells[i].key)
            *place(h, old.cells[i].key) = old.cells[i];
    free(old.cells);
}

struct histogram_cell *histogram_make(struct histogram *h, uint64_t key)
{
    struct histogram_cell *cell = place(h, key);
    if (!cell->key) {
        if (++h->used * 2 > h->mask) {
            grow(h);
            cell = place(h, key);
        }
        cell->key = key;
    }
    return cell;
}

void histogram_rows(const struct histogram *h, enum histogram_of of, struct bucket_rows *out)
{
    for (size_t i = 0; i <= h->mask; i++) {
        const struct histogram_cell *c = &h->cells[i];
        if (!c->key || (c->key >> 7 & 1) != of)
            continue;
        for (unsigned k = 0; k < HISTOGRAM_GROUP; k++)
            if (histogram_count(c, k))
                *vec_push(out) = (struct bucket_row){
                    .site = (uint32_t)(c->key >> 8),
                    .bucket = (uint32_t)(c->key >> 1 & 63) * HISTOGRAM_GROUP + k,
                    .count = histogram_count(c, k),
                    .bytes = c->bytes[k]};
    }
}

void histogram_release(struct histogram *h)
{
    free(h->cells);
    *h = (struct histogram){0};
}
