/*
 * What is known about the interpreter of a process, as the bytes of a PYTH chunk
 * (docs/FORMAT.md).
 */
#include "store/chunk_table.h"

#define READING_BYTES_LEAST 5 /* the fewest bytes that one can take */

void python_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->python_version);
    strbuf_varint(b, p->python_objects);
    strbuf_varint(b, p->arenas.count);
    for (size_t i = 0; i < p->arenas.count; i++) {
        const struct arena_reading *reading = &p->arenas.items[i];
        strbuf_varint(b, reading->time_ns);
        strbuf_varint(b, reading->arenas);
        strbuf_varint(b, reading->bytes);
        strbuf_varint(b, reading->objects);
        strbuf_varint(b, reading->object_bytes);
    }
    strbuf_varint(b, p->python_end);
}

void python_take(struct cursor *c, struct profile *p)
{
    p->python_version = (uint32_t)cursor_varint(c);
    p->python_objects = cursor_varint(c) != 0;
    for (uint64_t n = cursor_items(c, READING_BYTES_LEAST, sizeof(struct arena_reading));
         n > 0 && !c->bad; n--) {
        struct arena_reading reading = {.time_ns = cursor_varint(c)};
        reading.arenas = cursor_varint(c);
        reading.bytes = cursor_varint(c);
        reading.objects = cursor_varint(c);
        reading.object_bytes = cursor_varint(c);
        if (p->arenas.count && vec_last(&p->arenas)->time_ns > reading.time_ns)
            c->bad = true;
        *vec_push(&p->arenas) = reading;
    }
    p->python_end = c->at < c->end ? cursor_varint(c) : 0; /* older files do not have it */
    if (p->python_end > p->intervals.count) {
        p->python_end = 0;
        c->bad = true;
    }
}
