/*
 * Stamps (readings of the sizes of a process), marks and their values as bytes (docs/FORMAT.md).
 */
#include "store/chunk_table.h"

#include <string.h>

/* Writes the differences from the stamp before. */
static void put_stamp(struct strbuf *b, const struct stamp *s, struct stamp *previous)
{
    const uint64_t *now = (const uint64_t *)s, *before = (const uint64_t *)previous;
    for (size_t k = 0; k < sizeof *s / 8; k++)
        strbuf_varint(b, zigzag((int64_t)(now[k] - before[k])));
    *previous = *s;
}

/* On entry, *s is the stamp before. */
static void take_stamp(struct cursor *c, struct stamp *s)
{
    uint64_t *field = (uint64_t *)s;
    for (size_t k = 0; k < sizeof *s / 8; k++)
        field[k] += (uint64_t)unzigzag(cursor_varint(c));
}

void stamps_put(struct strbuf *b, const struct profile *p)
{
    struct stamp previous = {0};
    strbuf_varint(b, p->stamps.count);
    for (size_t i = 0; i < p->stamps.count; i++)
        put_stamp(b, &p->stamps.items[i], &previous);
}

void stamps_take(struct cursor *c, struct profile *p)
{
    struct stamp s = {0};
    for (uint64_t n = cursor_items(c, sizeof s / 8, sizeof s); n > 0 && !c->bad; n--) {
        take_stamp(c, &s);
        *vec_push(&p->stamps) = s;
    }
}

void marks_put(struct strbuf *b, const struct profile *p)
{
    struct stamp previous = {0};
    size_t intervals = 0;
    strbuf_varint(b, p->marks.count);
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct mark *m = &p->marks.items[i];
        strbuf_varint(b, m->label);
        strbuf_varint(b, m->thread);
        strbuf_varint(b, m->intervals - intervals);
        intervals = m->intervals;
        put_stamp(b, &m->stamp, &previous);
    }
    strbuf_varint(b, p->mark_values.count);
    for (size_t i = 0; i < p->mark_values.count; i++) {
        strbuf_varint(b, p->mark_values.items[i].mark);
        strbuf_varint(b, p->mark_values.items[i].key);
        strbuf_add(b, &p->mark_values.items[i].value, sizeof(double));
    }
    for (size_t i = 0; i < p->marks.count; i++)
        strbuf_varint(b, p->marks.items[i].absent_known ? p->marks.items[i].absent_bytes + 1 : 0);
}

void marks_take(struct cursor *c, struct profile *p)
{
    struct mark m = {0};
    for (uint64_t n = cursor_items(c, 3 + sizeof m.stamp / 8, sizeof m); n > 0 && !c->bad; n--) {
        m.label = (uint32_t)cursor_varint(c);
        m.thread = (uint32_t)cursor_varint(c);
        m.intervals += cursor_varint(c);
        take_stamp(c, &m.stamp);
        if (m.intervals > p->intervals.count || m.thread >= p->threads.count)
            c->bad = true;
        else
            *vec_push(&p->marks) = m;
    }
    for (uint64_t n = cursor_items(c, 10, sizeof(struct mark_value)); n > 0 && !c->bad; n--) {
        struct mark_value v = {.mark = (uint32_t)cursor_varint(c),
                               .key = (uint32_t)cursor_varint(c)};
        if (v.mark >= p->marks.count || (size_t)(c->end - c->at) < sizeof v.value) {
            c->bad = true;
            return;
        }
        memcpy(&v.value, c->at, sizeof v.value);
        c->at += sizeof v.value;
        *vec_push(&p->mark_values) = v;
    }
    for (size_t i = 0; i < p->marks.count && c->at < c->end && !c->bad; i++) {
        uint64_t absent = cursor_varint(c);
        p->marks.items[i].absent_known = absent > 0;
        p->marks.items[i].absent_bytes = absent > 0 ? absent - 1 : 0;
    }
}
