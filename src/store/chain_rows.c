/*
 * chain_rows: the growing arrays of a profile's sites as the bytes of a CHNS chunk
 * (docs/FORMAT.md). It comes after SITE: rows that point beyond the sites are damage, and so are
 * rows out of order.
 */
#include "store/chunk_table.h"

#define FIGURES (sizeof(struct chain_figures) / sizeof(uint64_t))

void chain_rows_put(struct strbuf *b, const struct profile *p)
{
    uint32_t previous = 0;
    strbuf_varint(b, p->chains.count);
    for (size_t i = 0; i < p->chains.count; i++) {
        const struct chain_row *row = &p->chains.items[i];
        const uint64_t *figures = (const uint64_t *)&row->of;
        strbuf_varint(b, row->site - previous);
        previous = row->site;
        for (size_t k = 0; k < FIGURES; k++)
            strbuf_varint(b, figures[k]);
    }
}

void chain_rows_take(struct cursor *c, struct profile *p)
{
    uint64_t site = 0;
    for (uint64_t n = cursor_items(c, 1 + FIGURES, sizeof(struct chain_row)); n > 0; n--) {
        struct chain_row row;
        uint64_t further = cursor_varint(c), *figures = (uint64_t *)&row.of;
        site += further;
        if (further > p->sites.count || site >= p->sites.count || (p->chains.count && !further))
            c->bad = true;
        row.site = (uint32_t)site;
        for (size_t k = 0; k < FIGURES; k++)
            figures[k] = cursor_varint(c);
        if (c->bad)
            return;
        *vec_push(&p->chains) = row;
    }
}
