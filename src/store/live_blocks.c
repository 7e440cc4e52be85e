/*
 * live_blocks: the live blocks of a profile's scans as the bytes of a LIVE chunk (docs/FORMAT.md).
 * It comes after the chunks that it refers to (SITE and IVAL): rows that point beyond them are
 * damage.
 */
#include "store/chunk_table.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SCAN 7 /* the fewest bytes that one can take */
#define LEAST_ROW  9

static void put_row(struct strbuf *b, const struct live_row *r, const struct live_row *previous)
{
    strbuf_varint(b, r->site - previous->site);
    strbuf_varint(b, r->interval);
    strbuf_varint(b, r->reach);
    strbuf_varint(b, r->blocks);
    strbuf_varint(b, r->bytes);
    strbuf_varint(b, r->usable - r->bytes);
    strbuf_varint(b, r->untouched);
    strbuf_varint(b, r->first_ns);
    strbuf_varint(b, r->last_ns - r->first_ns);
}

/* Writes what lost blocks lead to, for the rows that have any; each row is given as the distance
 * from the row before. */
static void put_led(struct strbuf *b, const struct profile *p, const struct scan *s)
{
    size_t count = 0, last = 0;
    for (size_t k = 0; k < s->row_count; k++)
        count += p->live.items[s->first_row + k].led_blocks != 0;
    strbuf_varint(b, s->led);
    strbuf_varint(b, count);
    for (size_t k = 0; k < s->row_count; k++) {
        const struct live_row *r = &p->live.items[s->first_row + k];
        if (!r->led_blocks)
            continue;
        strbuf_varint(b, k - last);
        strbuf_varint(b, r->led_blocks);
        strbuf_varint(b, r->led_bytes);
        last = k;
    }
}

void live_blocks_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->scans.count);
    for (size_t i = 0; i < p->scans.count; i++) {
        const struct scan *s = &p->scans.items[i];
        size_t size = s->unreachable ? strlen(s->unreachable) : 0;
        strbuf_varint(b, s->kind);
        strbuf_varint(b, s->time_ns);
        strbuf_varint(b, s->intervals);
        strbuf_varint(b, s->held_ns);
        strbuf_varint(b, s->residency);
        strbuf_varint(b, size);
        strbuf_add(b, s->unreachable ? s->unreachable : "", size);
        strbuf_varint(b, s->row_count);
        struct live_row previous = {0};
        for (size_t k = 0; k < s->row_count; k++) {
            put_row(b, &p->live.items[s->first_row + k], &previous);
            previous = p->live.items[s->first_row + k];
        }
    }
    for (size_t i = 0; i < p->scans.count; i++)
        put_led(b, p, &p->scans.items[i]);
}

static void take_led(struct cursor *c, struct profile *p, struct scan *s)
{
    s->led = cursor_varint(c) & 1;
    uint64_t row = 0;
    for (uint64_t n = cursor_varint(c); n > 0 && !c->bad; n--) {
        row += cursor_varint(c);
        uint64_t blocks = cursor_varint(c), bytes = cursor_varint(c);
        if (row >= s->row_count || !p->live.items[s->first_row + row].blocks)
            c->bad = true; /* only lost blocks lead to others */
        if (c->bad)
            break;
        p->live.items[s->first_row + row].led_blocks = blocks;
        p->live.items[s->first_row + row].led_bytes = bytes;
    }
}

static void take_row(struct cursor *c, struct profile *p, uint64_t *site)
{
    *site += cursor_varint(c);
    struct live_row r = {.site = (uint32_t)*site};
    uint64_t interval = cursor_varint(c), reach = cursor_varint(c);
    r.interval = (uint32_t)interval;
    r.reach = (uint32_t)reach;
    r.blocks = cursor_varint(c);
    r.bytes = cursor_varint(c);
    r.usable = r.bytes + cursor_varint(c);
    r.untouched = cursor_varint(c);
    r.first_ns = cursor_varint(c);
    r.last_ns = r.first_ns + cursor_varint(c);
    if (*site >= p->sites.count || interval >= p->intervals.count || reach >= REACHES)
        c->bad = true;
    if (!c->bad)
        *vec_push(&p->live) = r;
}

void live_blocks_take(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, LEAST_SCAN, sizeof(struct scan)); n > 0 && !c->bad; n--) {
        struct scan s = {.kind = (uint32_t)cursor_varint(c) % SCAN_KINDS};
        s.time_ns = cursor_varint(c);
        s.intervals = cursor_varint(c);
        s.held_ns = cursor_varint(c);
        s.residency = cursor_varint(c) & 1;
        char *why = cursor_string(c);
        if (*why)
            s.unreachable = why;
        else
            free(why);
        s.first_row = p->live.count;
        uint64_t site = 0;
        for (uint64_t k = cursor_items(c, LEAST_ROW, sizeof(struct live_row)); k > 0 && !c->bad;
             k--)
            take_row(c, p, &site);
        s.row_count = p->live.count - s.first_row;
        if (s.intervals > p->intervals.count) {
            s.intervals = p->intervals.count;
            c->bad = true;
        }
        *vec_push(&p->scans) = s;
    }
    /* Files of earlier versions end here. */
    for (size_t i = 0; i < p->scans.count && !c->bad && c->at < c->end; i++)
        take_led(c, p, &p->scans.items[i]);
}
