/*
 * What is known about memory of graphics processors, as the bytes of a GPUM chunk
 * (docs/FORMAT.md). The sites have the rest.
 */
#include "store/chunk_table.h"

void gpu_put(struct strbuf *b, const struct profile *p)
{
    for (int view = 0; view < GPU_VIEWS; view++) {
        const struct gpu_figures *g = &p->gpu[view];
        strbuf_varint(b, g->known);
        strbuf_varint(b, g->peak_bytes);
        strbuf_varint(b, g->peak_blocks);
        strbuf_varint(b, g->peak_ns);
    }
}

void gpu_take(struct cursor *c, struct profile *p)
{
    for (int view = 0; view < GPU_VIEWS; view++) {
        struct gpu_figures *g = &p->gpu[view];
        g->known = cursor_varint(c) != 0;
        g->peak_bytes = cursor_varint(c);
        g->peak_blocks = cursor_varint(c);
        g->peak_ns = cursor_varint(c);
    }
}
