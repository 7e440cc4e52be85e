/*
 * python_part: what is known about the interpreter of a process, as the bytes of a PYTH chunk
 * (docs/FORMAT.md).
 */
#include "store/part_table.h"

#define READING_BYTES_LEAST 5 /* the fewest bytes that one can take */

void python_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->python_version);
    strbuf_varint(b, p->python_objects);
    strbuf_varint(b, p->arenas.count);
    for (size_t i = 0; i < p->arenas.count; i++) {
        const struct arena_look *look = &p->arenas.items[i];
        strbuf_varint(b, look->time_ns);
        strbuf_varint(b, look->arenas);
        strbuf_varint(b, look->bytes);
        strbuf_varint(b, look->objects);
        strbuf_varint(b, look->object_bytes);
    }
    strbuf_varint(b, p->python_end);
}

void python_take(struct cursor *c, struct profile *p)
{
    p->python_version = (uint32_t)cursor_varint(c);
    p->python_objects = cursor_varint(c) != 0;
    for (uint64_t n = cursor_items(c, READING_BYTES_LEAST, sizeof(struct arena_look));
         n > 0 && !c->bad; n--) {
        struct arena_look look = {.time_ns = cursor_varint(c)};
        look.arenas = cursor_varint(c);
        look.bytes = cursor_varint(c);
        look.objects = cursor_varint(c);
        look.object_bytes = cursor_varint(c);
        if (p->arenas.count && vec_last(&p->arenas)->time_ns > look.time_ns)
            c->bad = true;
        *vec_push(&p->arenas) = look;
    }
    p->python_end = c->at < c->end ? cursor_varint(c) : 0; /* older files do not have it */
    if (p->python_end > p->intervals.count) {
        p->python_end = 0;
        c->bad = true;
    }
}
