/*
 * Sites and the rows of their intervals as bytes (docs/FORMAT.md); rows.h packs one interval.
 */
#include "store/chunk_table.h"

#include <string.h>

#define SITE_COLUMNS  11
#define SITES_AT_ONCE 1024 /* for which room is made */

#define TAKE_COLUMN(c, items, n, field)                                                            \
    for (uint64_t i = 0; i < (n); i++)                                                             \
    (items)[i].field = cursor_varint(c)

size_t packed_sites(const struct profile *p, const struct packed_figures *packed)
{
    return packed && packed->site_at ? packed->site_count : p->sites.count;
}

/* Puts a site into the columns. */
static void put_columns(struct strbuf *c, const struct site *s, uint32_t previous_node)
{
    const uint64_t values[SITE_COLUMNS] = {zigzag((int64_t)s->node - previous_node),
                                           s->thread,
                                           s->domain,
                                           s->unit_bytes,
                                           s->unit_usable - s->unit_bytes,
                                           s->at_peak_blocks,
                                           s->at_peak_bytes,
                                           s->at_peak_usable - s->at_peak_bytes,
                                           s->own_peak_blocks,
                                           s->own_peak_bytes,
                                           zigzag((int64_t)(s->largest_bytes - s->unit_bytes))};
    for (unsigned i = 0; i < SITE_COLUMNS; i++)
        strbuf_varint_there(&c[i], values[i]);
}

void sites_put(struct strbuf *b, const struct profile *p, const struct packed_figures *packed)
{
    struct strbuf columns[SITE_COLUMNS] = {0};
    const size_t count = packed_sites(p, packed);
    uint32_t previous = 0;
    strbuf_varint(b, count);
    for (size_t i = 0; i < count; i++) {
        const struct site s =
            packed && packed->site_at ? packed->site_at(packed->sites, i) : p->sites.items[i];
        if (i % SITES_AT_ONCE == 0)
            for (unsigned k = 0; k < SITE_COLUMNS; k++)
                strbuf_reserve(&columns[k], SITES_AT_ONCE * VARINT_MOST);
        put_columns(columns, &s, previous);
        previous = s.node;
    }
    for (unsigned i = 0; i < SITE_COLUMNS; i++) {
        strbuf_add(b, columns[i].data ? columns[i].data : "", columns[i].size);
        strbuf_release(&columns[i]);
    }
}

void sites_take(struct cursor *c, struct profile *p)
{
    uint64_t n = cursor_items(c, SITE_COLUMNS, sizeof(struct site));
    vec_reserve(&p->sites, n);
    if (n)
        memset(p->sites.items, 0, n * sizeof *p->sites.items);
    p->sites.count = n;
    struct site *s = p->sites.items;
    uint64_t previous = 0;
    for (uint64_t i = 0; i < n; i++)
        s[i].node = (uint32_t)(previous += (uint64_t)unzigzag(cursor_varint(c)));
    for (uint64_t i = 0; i < n; i++)
        s[i].thread = (uint32_t)cursor_varint(c);
    for (uint64_t i = 0; i < n; i++)
        s[i].domain = (uint32_t)cursor_varint(c);
    TAKE_COLUMN(c, s, n, unit_bytes);
    TAKE_COLUMN(c, s, n, unit_usable);
    TAKE_COLUMN(c, s, n, at_peak_blocks);
    TAKE_COLUMN(c, s, n, at_peak_bytes);
    TAKE_COLUMN(c, s, n, at_peak_usable);
    TAKE_COLUMN(c, s, n, own_peak_blocks);
    TAKE_COLUMN(c, s, n, own_peak_bytes);
    for (uint64_t i = 0; i < n; i++) {
        s[i].unit_usable += s[i].unit_bytes;
        s[i].at_peak_usable += s[i].at_peak_bytes;
        s[i].largest_bytes = s[i].unit_bytes + (uint64_t)unzigzag(cursor_varint(c));
        if (s[i].node >= p->nodes.count || s[i].thread >= p->threads.count ||
            s[i].domain >= DOMAIN_COUNT)
            c->bad = true;
    }
}

void intervals_put(struct strbuf *b, const struct profile *p, const struct packed_figures *packed)
{
    uint64_t previous = 0;
    strbuf_varint(b, p->intervals.count);
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        strbuf_varint(b, v->end_ns - previous);
        previous = v->end_ns;
        strbuf_varint(b, v->peak_bytes);
        strbuf_varint(b, v->unknown_frees);
        strbuf_varint(b, v->lost_events);
        strbuf_varint(b, v->truncated_stacks);
        strbuf_varint(b, v->incomplete_stacks);
        strbuf_varint(b, packed ? packed->counts[i] : v->row_count);
    }
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        if (packed) {
            strbuf_add(b, packed->rows[i]->data ? packed->rows[i]->data : "",
                       packed->rows[i]->size);
            continue;
        }
        uint32_t from = UINT32_MAX;
        for (size_t k = 0; k < v->row_count; k++) {
            const struct row *row = &p->rows.items[v->first_row + k];
            row_put(b, &from, row, &p->sites.items[row->site].unit);
        }
    }
}

void intervals_take(struct cursor *c, struct profile *p)
{
    const struct units units = UNITS_OF(p->sites.items, p->sites.count);
    uint64_t n = cursor_items(c, 7, sizeof(struct interval)), end = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct interval *v = vec_push(&p->intervals);
        *v = (struct interval){.end_ns = end += cursor_varint(c)};
        v->peak_bytes = cursor_varint(c);
        v->unknown_frees = cursor_varint(c);
        v->lost_events = cursor_varint(c);
        v->truncated_stacks = cursor_varint(c);
        v->incomplete_stacks = cursor_varint(c);
        v->row_count = cursor_items(c, 2, sizeof(struct row));
    }
    for (uint64_t i = 0; i < n && !c->bad; i++) {
        struct interval *v = &p->intervals.items[i];
        uint32_t previous = UINT32_MAX;
        v->first_row = p->rows.count;
        for (size_t k = 0; k < v->row_count; k++) {
            struct row row;
            if (!row_take(c, &previous, &row, &units)) {
                v->row_count = k;
                break;
            }
            *vec_push(&p->rows) = row;
        }
    }
    if (c->bad) /* intervals whose rows were not read have none */
        for (size_t i = 0; i < p->intervals.count; i++)
            if (p->intervals.items[i].first_row + p->intervals.items[i].row_count > p->rows.count)
                p->intervals.items[i].row_count = 0;
}
