/*
 * footprints: what a profile's resident memory consisted of, as the bytes of a FOOT chunk
 * (docs/FORMAT.md). It comes after SITE, which it refers to. The number of parts is stored, so that
 * new parts can be added.
 */
#include "store/chunk_table.h"

#define LEAST_FOOTPRINT 9 /* the fewest bytes that one can take */
#define LEAST_PIN       3
#define MOST            4096 /* footprints at most; recordings have about 64 */

enum { FLAG_EXACT = 1, FLAG_PARTIAL = 2 };

void footprints_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->footprints.count);
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        strbuf_varint(b, f->kind);
        strbuf_varint(b, f->time_ns);
        strbuf_varint(b, (f->exact ? FLAG_EXACT : 0) | (f->partial ? FLAG_PARTIAL : 0));
        strbuf_varint(b, f->rss_bytes);
        strbuf_varint(b, f->live_bytes);
        strbuf_varint(b, FOOTPRINT_PARTS);
        for (size_t k = 0; k < FOOTPRINT_PARTS; k++)
            strbuf_varint(b, f->parts[k]);
        strbuf_varint(b, f->trim_bytes);
        strbuf_varint(b, f->arenas);
        strbuf_varint(b, f->pin_count);
        for (size_t k = 0; k < f->pin_count; k++) {
            const struct pin *pin = &p->pins.items[f->first_pin + k];
            strbuf_varint(b, pin->site);
            strbuf_varint(b, pin->pinned);
            strbuf_varint(b, pin->bytes);
        }
    }
    for (size_t i = 0; i < p->footprints.count; i++)
        strbuf_varint(b, p->footprints.items[i].moved_bytes);
}

static void take_pins(struct cursor *c, struct profile *p, struct footprint *f)
{
    f->first_pin = p->pins.count;
    for (uint64_t n = cursor_items(c, LEAST_PIN, sizeof(struct pin)); n > 0 && !c->bad; n--) {
        uint64_t site = cursor_varint(c), pinned = cursor_varint(c), bytes = cursor_varint(c);
        if (site >= p->sites.count) {
            c->bad = true;
            return;
        }
        *vec_push(&p->pins) = (struct pin){(uint32_t)site, pinned, bytes};
        f->pin_count++;
    }
}

void footprints_take(struct cursor *c, struct profile *p)
{
    uint64_t n = cursor_items(c, LEAST_FOOTPRINT, sizeof(struct footprint));
    c->bad |= n > MOST;
    for (; n > 0 && !c->bad; n--) {
        struct footprint f = {.kind = (uint32_t)(cursor_varint(c) % FOOTPRINT_KINDS)};
        f.time_ns = cursor_varint(c);
        uint64_t flags = cursor_varint(c);
        f.exact = flags & FLAG_EXACT;
        f.partial = flags & FLAG_PARTIAL;
        f.rss_bytes = cursor_varint(c);
        f.live_bytes = cursor_varint(c);
        uint64_t parts = cursor_count(c, 1);
        for (uint64_t k = 0; k < parts && !c->bad; k++) {
            uint64_t bytes = cursor_varint(c);
            if (k < FOOTPRINT_PARTS)
                f.parts[k] = bytes;
        }
        f.trim_bytes = cursor_varint(c);
        f.arenas = cursor_varint(c);
        take_pins(c, p, &f);
        if (p->footprints.count && vec_last(&p->footprints)->time_ns > f.time_ns)
            c->bad = true;
        *vec_push(&p->footprints) = f;
    }
    for (size_t i = 0; i < p->footprints.count && c->at < c->end && !c->bad; i++)
        p->footprints.items[i].moved_bytes = cursor_varint(c);
}
