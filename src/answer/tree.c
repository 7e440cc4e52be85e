#include "answer/tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "answer/indent.h"
#include "answer/json_parts.h"
#include "answer/table.h"
#include "answer/units.h"

static const char *shown_path(const char *path, const char *prefix)
{
    if (prefix)
        return strncmp(path, prefix, strlen(prefix)) == 0 ? path + strlen(prefix) : path;
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct call_frame *frame_of(const struct tree *d, const struct tree_call *c)
{
    return &d->places.total.frames.frames.items[d->tree.key.items[c->node]];
}

static void cell_change(struct table *t, int64_t bytes)
{
    struct strbuf *cell = table_cell(t);
    if (bytes)
        unit_bytes(cell, bytes);
}

void tree_text(const struct tree *d, const char *heading, const char *prefix, size_t top,
               const struct style *s, struct strbuf *out)
{
    const struct frame_table *frames = &d->places.total.frames;
    size_t shown = d->calls.count < top ? d->calls.count : top;
    struct table t;
    say(out, "%r%r%r\nfrom %T to %T; each call with all that it called\n\n", style_bold(s), heading,
        style_plain(s), d->window.since.time_ns, d->window.at.time_ns);
    table_init(&t);
    table_column(&t, "first at", CELL_RIGHT);
    table_column(&t, "gained", CELL_RIGHT);
    table_column(&t, "freed", CELL_RIGHT);
    table_column(&t, "calls", CELL_RIGHT);
    uint32_t *indent = xcalloc(shown + 1, sizeof *indent);
    for (size_t i = 0; i < shown; i++)
        indent[i] = d->calls.items[i].depth;
    bool deep = indent_tree(indent, shown);
    if (deep)
        table_column(&t, "depth", CELL_RIGHT);
    table_column(&t, "call", CELL_NAME);
    table_column(&t, "where", CELL_PATH);
    for (size_t i = 0; i < shown; i++) {
        const struct tree_call *c = &d->calls.items[i];
        const struct call_frame *f = frame_of(d, c);
        unit_time(table_cell(&t), c->first_ns);
        cell_change(&t, c->gained);
        cell_change(&t, c->freed);
        unit_count(table_cell(&t), c->count);
        if (deep)
            unit_count(table_cell(&t), c->depth);
        struct strbuf *name = table_cell(&t);
        strbuf_printf(name, "%*s", (int)indent[i], "");
        unit_text(name, frame_table_string(frames, f->name));
        struct strbuf *place = table_cell(&t);
        if (f->file) {
            unit_text(place, shown_path(frame_table_string(frames, f->file), prefix));
            if (f->line)
                strbuf_printf(place, ":%u", (unsigned)f->line);
        } else if (f->module) {
            unit_text(place, frame_table_string(frames, f->module));
        }
    }
    if (d->calls.count)
        table_print(&t, s, out);
    else
        strbuf_puts(out, "nothing was allocated or freed\n");
    table_release(&t);
    free(indent);
    if (shown < d->calls.count) {
        say(out, "... %N more call(s); --top 0 shows all\n", d->calls.count - shown);
    }
}

/* Flat, with depths: trees are deeper than readers of JSON like. */
void tree_json(const struct recording *r, const struct tree *d, const struct tree_peak *peak,
               const char *prefix, struct strbuf *out)
{
    const struct frame_table *frames = &d->places.total.frames;
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.tree/1");
    json_program(&j, r, d->places.total.profile);
    json_u64(&j, "since_ns", d->window.since.time_ns);
    json_u64(&j, "at_ns", d->window.at.time_ns);
    if (peak->number) {
        json_object(&j, "peak");
        json_u64(&j, "number", peak->number);
        json_i64(&j, "bytes", peak->bytes);
        json_i64(&j, "listed_bytes", peak->listed_bytes);
        json_end(&j);
    } else {
        json_null(&j, "peak");
    }
    json_array(&j, "calls");
    for (size_t i = 0; i < d->calls.count; i++) {
        const struct tree_call *c = &d->calls.items[i];
        const struct call_frame *f = frame_of(d, c);
        json_object(&j, NULL);
        json_u64(&j, "depth", c->depth);
        json_string(&j, "function", frame_table_string(frames, f->name));
        json_string(&j, "module", f->module ? frame_table_string(frames, f->module) : NULL);
        json_string(&j, "file",
                    !f->file ? NULL
                    : prefix ? shown_path(frame_table_string(frames, f->file), prefix)
                             : frame_table_string(frames, f->file));
        if (f->line)
            json_u64(&j, "line", f->line);
        else
            json_null(&j, "line");
        json_u64(&j, "first_ns", c->first_ns);
        json_i64(&j, "gained_bytes", c->gained);
        json_i64(&j, "freed_bytes", c->freed);
        json_i64(&j, "count", c->count);
        json_i64(&j, "self_gained_bytes", c->own_gained);
        json_i64(&j, "self_freed_bytes", c->own_freed);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
}
