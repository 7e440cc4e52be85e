/*
 * histograms: sizes, lifetimes and untouched freed blocks of a profile's sites as the bytes of a
 * HIST chunk (docs/FORMAT.md). It comes after SITE: rows that point beyond the sites are damage,
 * and so are rows out of order.
 */
#include "store/chunk_table.h"

#include "store/buckets.h"

static void put_rows(struct strbuf *b, const struct bucket_rows *rows, bool with_bytes)
{
    uint32_t previous = 0;
    strbuf_varint(b, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct bucket_row *r = &rows->items[i];
        strbuf_varint(b, r->site - previous);
        previous = r->site;
        strbuf_varint(b, r->bucket);
        strbuf_varint(b, r->count);
        if (with_bytes)
            strbuf_varint(b, r->bytes);
    }
}

void histograms_put(struct strbuf *b, const struct profile *p)
{
    uint32_t previous = 0;
    put_rows(b, &p->sizes, true);
    put_rows(b, &p->lifetimes, false);
    strbuf_varint(b, p->freed_readings.count);
    for (size_t i = 0; i < p->freed_readings.count; i++) {
        const struct freed_reading *k = &p->freed_readings.items[i];
        strbuf_varint(b, k->site - previous);
        previous = k->site;
        strbuf_varint(b, k->blocks);
        strbuf_varint(b, k->bytes);
        strbuf_varint(b, k->untouched_blocks);
        strbuf_varint(b, k->untouched);
    }
}

/* false: damage. A site may occur again with a larger bucket. */
static bool take_site(struct cursor *c, const struct profile *p, uint64_t *site)
{
    uint64_t further = cursor_varint(c);
    *site += further;
    if (further > p->sites.count || *site >= p->sites.count)
        c->bad = true;
    return !c->bad;
}

static void take_rows(struct cursor *c, const struct profile *p, struct bucket_rows *rows,
                      unsigned buckets, bool with_bytes)
{
    uint64_t site = 0;
    for (uint64_t n = cursor_items(c, with_bytes ? 4 : 3, sizeof(struct bucket_row));
         n > 0 && take_site(c, p, &site); n--) {
        uint64_t bucket = cursor_varint(c);
        struct bucket_row row = {.site = (uint32_t)site, .bucket = (uint32_t)bucket};
        row.count = cursor_varint(c);
        row.bytes = with_bytes ? cursor_varint(c) : 0;
        const struct bucket_row *last = rows->count ? vec_last(rows) : NULL;
        if (bucket >= buckets || (last && last->site == site && last->bucket >= bucket))
            c->bad = true;
        if (c->bad)
            return;
        *vec_push(rows) = row;
    }
}

void histograms_take(struct cursor *c, struct profile *p)
{
    uint64_t site = 0;
    p->has_histograms = true;
    take_rows(c, p, &p->sizes, SIZE_BUCKETS, true);
    take_rows(c, p, &p->lifetimes, LIFE_BUCKETS, false);
    for (uint64_t n = cursor_items(c, 5, sizeof(struct freed_reading));
         n > 0 && take_site(c, p, &site); n--) {
        struct freed_reading k = {.site = (uint32_t)site, .blocks = cursor_varint(c)};
        k.bytes = cursor_varint(c);
        k.untouched_blocks = cursor_varint(c);
        k.untouched = cursor_varint(c);
        if (p->freed_readings.count && vec_last(&p->freed_readings)->site == site)
            c->bad = true;
        if (c->bad)
            return;
        *vec_push(&p->freed_readings) = k;
    }
}
