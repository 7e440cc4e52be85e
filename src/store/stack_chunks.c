/*
 * The tree of stacks, and the frames of its addresses, as bytes (docs/FORMAT.md).
 */
#include "store/chunk_table.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_FRAME 5 /* the fewest bytes that one can take */

struct distinct {
    uint64_t address;
    uint32_t number; /* in the order in which they first occur */
};

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct distinct *)a)->address, y = ((const struct distinct *)b)->address;
    return (x > y) - (x < y);
}

/* Writes the distinct addresses in order, as differences; then each node as (own number - parent,
 * index of its address). */
void nodes_put(struct strbuf *b, const struct profile *p)
{
    size_t n = p->nodes.count;
    struct map numbers = {0};
    VEC(struct distinct) sorted = {0};
    uint32_t *number = xmalloc(n * sizeof *number);
    for (size_t i = 1; i < n; i++) {
        uint32_t *known = map_at(&numbers, p->nodes.items[i].address);
        if (*known == MAP_NONE) {
            *known = (uint32_t)sorted.count;
            *vec_push(&sorted) = (struct distinct){p->nodes.items[i].address, *known};
        }
        number[i] = *known;
    }
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof *sorted.items, by_address);
    uint32_t *place = xmalloc(sorted.count * sizeof *place);
    strbuf_varint(b, sorted.count);
    for (size_t i = 0; i < sorted.count; i++) {
        strbuf_varint(b, sorted.items[i].address - (i ? sorted.items[i - 1].address : 0));
        place[sorted.items[i].number] = (uint32_t)i;
    }
    strbuf_varint(b, n ? n - 1 : 0);
    for (size_t i = 1; i < n; i++)
        strbuf_varint(b, i - p->nodes.items[i].parent);
    for (size_t i = 1; i < n; i++)
        strbuf_varint(b, place[number[i]]);
    free(place);
    free(number);
    map_release(&numbers);
    vec_release(&sorted);
}

void nodes_take(struct cursor *c, struct profile *p)
{
    VEC(uint64_t) addresses = {0};
    uint64_t address = 0;
    for (uint64_t n = cursor_items(c, 1, sizeof address); n > 0; n--)
        *vec_push(&addresses) = address += cursor_varint(c);
    uint64_t n = cursor_items(c, 2, sizeof(struct node));
    vec_reserve(&p->nodes, n + 1);
    *vec_push(&p->nodes) = (struct node){0};
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t up = cursor_varint(c);
        if (up == 0 || up > i) /* a parent comes before its child: no cycles */
            c->bad = true;
        *vec_push(&p->nodes) = (struct node){.parent = c->bad ? 0 : (uint32_t)(i - up)};
    }
    for (uint64_t i = 1; i <= n; i++) {
        uint64_t place = cursor_varint(c);
        if (place >= addresses.count)
            c->bad = true;
        else
            p->nodes.items[i].address = addresses.items[place];
    }
    vec_release(&addresses);
}

/* Writes the addresses, the length of each one's run, then all frames column by column. */
void frames_put(struct strbuf *b, const struct profile *p)
{
    size_t runs = p->frame_runs.count ? p->frame_runs.count - 1 : 0;
    strbuf_varint(b, runs);
    uint64_t *address = xcalloc(runs, sizeof *address);
    for (size_t i = 0; i < p->symbols.size; i++)
        if (p->symbols.slots[i].value < runs)
            address[p->symbols.slots[i].value] = p->symbols.slots[i].key;
    uint64_t previous = 0;
    for (size_t i = 0; i < runs; i++) {
        strbuf_varint(b, zigzag((int64_t)(address[i] - previous)));
        previous = address[i];
    }
    free(address);
    for (size_t i = 0; i < runs; i++)
        strbuf_varint(b, p->frame_runs.items[i + 1] - p->frame_runs.items[i]);
    PUT_COLUMN(b, p->frames, function);
    PUT_COLUMN(b, p->frames, module);
    PUT_COLUMN(b, p->frames, file);
    PUT_COLUMN(b, p->frames, line);
    PUT_COLUMN(b, p->frames, kind);
}

void frames_take(struct cursor *c, struct profile *p)
{
    uint64_t runs = cursor_items(c, 2, SYMBOL_BYTES), address = 0, total = 0;
    map_reserve(&p->symbols, runs);
    for (uint64_t i = 0; i < runs; i++)
        *map_at(&p->symbols, address += (uint64_t)unzigzag(cursor_varint(c))) = (uint32_t)i;
    *vec_push(&p->frame_runs) = 0;
    for (uint64_t i = 0; i < runs; i++) {
        total += cursor_varint(c);
        if (total > (uint64_t)(c->end - c->at) / LEAST_FRAME) {
            c->bad = true;
            total = 0;
        }
        *vec_push(&p->frame_runs) = (uint32_t)total;
    }
    if (!cursor_room(c, total, sizeof(struct frame)))
        return;
    vec_reserve(&p->frames, total);
    p->frames.count = total;
    struct frame *f = p->frames.items;
    for (uint64_t i = 0; i < total; i++)
        f[i].function = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].module = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].file = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].line = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < total; i++)
        f[i].kind = (enum frame_kind)(cursor_varint(c) % 3);
}
