#include "report/mark_scopes.h"

#include <inttypes.h>

#include "base/json.h"
#include "report/csv.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/units.h"
#include "report/wrap.h"

static void add_row(const struct mark_scope *s, bool open, struct table *t)
{
    unit_text(table_cell(t), s->name);
    unit_count(table_cell(t), (int64_t)s->entered);
    if (open)
        unit_count(table_cell(t), (int64_t)s->open);
    unit_time(table_cell(t), s->time_ns);
    unit_bytes(table_cell(t), s->live_bytes);
    unit_count(table_cell(t), s->live_blocks);
    unit_bytes(table_cell(t), s->most_bytes);
    unit_bytes(table_cell(t), (int64_t)s->peak_bytes);
    unit_bytes(table_cell(t), s->rss_bytes);
    unit_count(table_cell(t), s->allocations);
}

void mark_scopes_text(const struct mark_scopes *s, const struct style *style, struct strbuf *out)
{
    static const char *const numbers[] = {"live", "blocks", "most", "peak", "RSS", "allocations"};
    bool open = false;
    struct table t;
    for (size_t i = 0; i < s->items.count; i++)
        open |= s->items.items[i].open > 0;
    summary_processes(s->recording, s->profile, style, out);
    strbuf_puts(out, style_bold(style));
    summary_command(s->profile, style->width > 60 ? style->width - 20 : 40, out);
    strbuf_printf(out, "%s, pid %" PRIu32 "\n", style_plain(style), s->profile->pid);
    if (!s->items.count) {
        wrap_text(
            "",
            "no scopes; 'with tidemark.scope(\"NAME\"):' in Python and tide::scope in C++ make "
            "them, or marks NAME and NAME.end",
            style->width, out);
        return;
    }
    wrap_text("",
              "what came to the process between begin and end of each scope, all times it was "
              "entered; most and peak: of one",
              style->width, out);
    strbuf_putc(out, '\n');
    table_init(&t);
    table_column(&t, "scope", CELL_NAME);
    table_column(&t, "entered", CELL_RIGHT);
    if (open)
        table_column(&t, "not left", CELL_RIGHT);
    table_column(&t, "time", CELL_RIGHT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        table_column(&t, numbers[i], CELL_RIGHT);
    table_spare(&t, "allocations");
    table_spare(&t, "blocks");
    for (size_t i = 0; i < s->items.count; i++)
        add_row(&s->items.items[i], open, &t);
    table_print(&t, style, out);
    table_release(&t);
}

void mark_scopes_json(const struct mark_scopes *s, struct strbuf *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.scopes/1");
    json_array(&j, "scopes");
    for (size_t i = 0; i < s->items.count; i++) {
        const struct mark_scope *x = &s->items.items[i];
        json_object(&j, NULL);
        json_string(&j, "name", x->name);
        json_u64(&j, "entered", x->entered);
        json_u64(&j, "open", x->open);
        json_u64(&j, "time_ns", x->time_ns);
        json_i64(&j, "live_bytes", x->live_bytes);
        json_i64(&j, "live_blocks", x->live_blocks);
        json_i64(&j, "most_bytes", x->most_bytes);
        json_u64(&j, "peak_bytes", x->peak_bytes);
        json_i64(&j, "rss_bytes", x->rss_bytes);
        json_i64(&j, "allocations", x->allocations);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
}

void mark_scopes_csv(const struct mark_scopes *s, struct strbuf *out)
{
    strbuf_puts(out, "name,entered,open,time_ns,live_bytes,live_blocks,most_bytes,peak_bytes,"
                     "rss_bytes,allocations\n");
    for (size_t i = 0; i < s->items.count; i++) {
        const struct mark_scope *x = &s->items.items[i];
        csv_text(out, x->name);
        strbuf_printf(out,
                      ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                      ",%" PRIu64 ",%" PRId64 ",%" PRId64 "\n",
                      x->entered, x->open, x->time_ns, x->live_bytes, x->live_blocks, x->most_bytes,
                      x->peak_bytes, x->rss_bytes, x->allocations);
    }
}
