/*
 * captures: a profile's mappings at certain moments as the bytes of a MAPS chunk (docs/FORMAT.md).
 * The chunk stands alone: it contains the names. The mappings of a capture are in order of address
 * and do not overlap; anything else is damage.
 */
#include "store/chunk_table.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_CAPTURE 3 /* the fewest bytes that one can take */
#define LEAST_MAPPING (7 + MAPPING_SIZES)
#define LEAST_NODE    2

static void put_mapping(struct strbuf *b, const struct profile *p, const struct mapping *m,
                        uint64_t before)
{
    strbuf_varint(b, m->start - before);
    strbuf_varint(b, m->end - m->start);
    strbuf_varint(b, m->offset);
    strbuf_varint(b, m->flags);
    strbuf_varint(b, m->name);
    strbuf_varint(b, m->policy);
    for (size_t i = 0; i < MAPPING_SIZES; i++)
        strbuf_varint(b, m->kib[i]);
    strbuf_varint(b, m->node_count);
    for (size_t i = 0; i < m->node_count; i++) {
        strbuf_varint(b, p->map_nodes.items[m->first_node + i].node);
        strbuf_varint(b, p->map_nodes.items[m->first_node + i].kib);
    }
}

void captures_put(struct strbuf *b, const struct profile *p)
{
    strbuf_varint(b, p->map_names.strings.count);
    for (size_t i = 0; i < p->map_names.strings.count; i++) {
        size_t size = strlen(p->map_names.strings.items[i]);
        strbuf_varint(b, size);
        strbuf_add(b, p->map_names.strings.items[i], size);
    }
    strbuf_varint(b, p->captures.count);
    for (size_t i = 0; i < p->captures.count; i++) {
        const struct capture *capture = &p->captures.items[i];
        uint64_t before = 0;
        strbuf_varint(b, capture->kind);
        strbuf_varint(b, capture->time_ns);
        strbuf_varint(b, capture->count);
        for (size_t k = 0; k < capture->count; k++) {
            const struct mapping *m = &p->mappings.items[capture->first + k];
            put_mapping(b, p, m, before);
            before = m->end;
        }
    }
}

static void take_nodes(struct cursor *c, struct profile *p, struct mapping *m)
{
    m->first_node = p->map_nodes.count;
    uint64_t least = 0;
    for (uint64_t n = cursor_items(c, LEAST_NODE, sizeof(struct mapping_node)); n > 0 && !c->bad;
         n--) {
        uint64_t node = cursor_varint(c);
        if (node < least || node >= NUMA_NODES)
            c->bad = true;
        least = node + 1;
        *vec_push(&p->map_nodes) =
            (struct mapping_node){.node = (uint32_t)node, .kib = cursor_varint(c)};
        m->node_count++;
    }
}

static void take_mapping(struct cursor *c, struct profile *p, uint64_t *before)
{
    struct mapping m = {.start = *before + cursor_varint(c)};
    m.end = m.start + cursor_varint(c);
    m.offset = cursor_varint(c);
    m.flags = (uint32_t)cursor_varint(c);
    uint64_t name = cursor_varint(c), policy = cursor_varint(c);
    for (size_t i = 0; i < MAPPING_SIZES; i++)
        m.kib[i] = cursor_varint(c);
    if (m.start < *before || m.end <= m.start || name >= p->map_names.strings.count ||
        policy >= p->map_names.strings.count)
        c->bad = true;
    take_nodes(c, p, &m);
    if (c->bad)
        return;
    m.name = (uint32_t)name;
    m.policy = (uint32_t)policy;
    *before = m.end;
    *vec_push(&p->mappings) = m;
}

void captures_take(struct cursor *c, struct profile *p)
{
    for (uint64_t n = cursor_items(c, 1, STRING_INDEX); n > 0 && !c->bad; n--) {
        char *name = cursor_string(c);
        strpool_add(&p->map_names, name);
        free(name);
    }
    for (uint64_t n = cursor_items(c, LEAST_CAPTURE, sizeof(struct capture)); n > 0 && !c->bad;
         n--) {
        struct capture capture = {.kind = (uint32_t)(cursor_varint(c) % CAPTURE_KINDS),
                                  .time_ns = cursor_varint(c),
                                  .first = p->mappings.count};
        uint64_t before = 0;
        for (uint64_t k = cursor_items(c, LEAST_MAPPING, sizeof(struct mapping)); k > 0 && !c->bad;
             k--)
            take_mapping(c, p, &before);
        capture.count = p->mappings.count - capture.first;
        if (p->captures.count && vec_last(&p->captures)->time_ns > capture.time_ns)
            c->bad = true;
        *vec_push(&p->captures) = capture;
    }
}
