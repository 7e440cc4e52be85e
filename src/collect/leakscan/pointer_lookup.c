#include "collect/leakscan/pointer_lookup.h"

#include <stdlib.h>

#define AREA_GAP    (UINT64_C(1) << 20) /* a larger gap between blocks ends an area */
#define CELLS_LEAST 1024                /* cells of one area, at least */

void reachability_add(struct reachability *f, uint64_t address, uint64_t size)
{
    *vec_push(&f->blocks) = (struct reachability_block){
        .address = address, .size = size ? size : 1, .state = REACH_UNKNOWN};
}

static int by_address(const void *a, const void *b)
{
    const struct reachability_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Sorts the blocks: several tables were added, one after the other. */
static void put_in_order(struct reachability *f)
{
    struct reachability_block *b = f->blocks.items;
    size_t n = f->blocks.count, kept = 0;
    bool ordered = true;
    for (size_t i = 1; i < n && ordered; i++)
        ordered = b[i - 1].address < b[i].address;
    if (ordered)
        return;
    qsort(b, n, sizeof *b, by_address);
    for (size_t i = 0; i < n; i++)
        if (!kept || b[kept - 1].address != b[i].address)
            b[kept++] = b[i];
        else if (b[kept - 1].size < b[i].size)
            b[kept - 1] = b[i];
    f->blocks.count = kept;
}

static void make_cells(struct reachability *f, struct reachability_area *a, uint32_t end)
{
    const struct reachability_block *b = f->blocks.items;
    uint32_t next = a->first;
    while (((a->end - a->start) >> a->shift) > (uint64_t)(end - a->first) * 2 + CELLS_LEAST)
        a->shift++;
    uint64_t cells = ((a->end - a->start - 1) >> a->shift) + 1;
    a->first_cell = f->cells.count;
    vec_reserve(&f->cells, f->cells.count + cells + 1);
    for (uint64_t c = 0; c <= cells; c++) {
        while (next < end && b[next].address < a->start + (c << a->shift))
            next++;
        *vec_push(&f->cells) = next;
    }
}

void reachability_ready(struct reachability *f, reachability_read *read, void *context)
{
    f->read = read;
    f->context = context;
    f->buffer = xmalloc(REACHABILITY_BUFFER);
    put_in_order(f);
    f->rooted = xcalloc(f->blocks.count / 64 + 1, sizeof *f->rooted);
    const struct reachability_block *b = f->blocks.items;
    struct reachability_area a = {0};
    uint64_t high = 0;
    for (size_t i = 0; i < f->blocks.count; i++) {
        if (i && b[i].address > a.end && b[i].address - a.end > AREA_GAP) {
            make_cells(f, &a, (uint32_t)i);
            *vec_push(&f->areas) = a;
            a = (struct reachability_area){0};
        }
        if (!a.end)
            a = (struct reachability_area){.start = b[i].address, .first = (uint32_t)i, .shift = 4};
        /* One byte more: an array may begin there. */
        a.end = end_of(&b[i]) >= a.end ? end_of(&b[i]) + 1 : a.end;
        high = a.end > high ? a.end : high;
    }
    if (a.end) {
        make_cells(f, &a, (uint32_t)f->blocks.count);
        *vec_push(&f->areas) = a;
        f->low = b[0].address;
        f->span = high - f->low;
    }
}

uint32_t reachability_find(const struct reachability *f, uint64_t address)
{
    const struct reachability_area *a = address - f->low < f->span ? area_of(f, address) : NULL;
    uint32_t ended;
    return a ? block_in(f, a, cell_of(f, a, address), address, &ended) : NONE;
}
