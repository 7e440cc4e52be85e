#include "answer/mark_scopes.h"

#include "answer/json_parts.h"
#include "answer/summary.h"
#include "answer/wrap.h"

static const struct column_def columns[] = {
    {"name", "scope", COLUMN_NAME, FIELD(struct mark_scope, name)},
    {"entered", "entered", COLUMN_COUNT, FIELD(struct mark_scope, entered)},
    {"open", "not left", COLUMN_COUNT, FIELD(struct mark_scope, open), .if_any = true},
    {"time_ns", "time", COLUMN_TIME, FIELD(struct mark_scope, time_ns)},
    {"live_bytes", "live", COLUMN_BYTES, FIELD(struct mark_scope, live_bytes)},
    {"live_blocks", "blocks", COLUMN_COUNT, FIELD(struct mark_scope, live_blocks), .spare = 2},
    {"most_bytes", "most", COLUMN_BYTES, FIELD(struct mark_scope, most_bytes)},
    {"peak_bytes", "peak", COLUMN_BYTES, FIELD(struct mark_scope, peak_bytes)},
    {"rss_bytes", "RSS", COLUMN_BYTES, FIELD(struct mark_scope, rss_bytes)},
    {"allocations", "allocations", COLUMN_COUNT, FIELD(struct mark_scope, allocations), .spare = 1},
};

static bool add_heading(const void *answer, const struct style *style, struct strbuf *out)
{
    const struct mark_scopes *s = answer;
    summary_processes(s->recording, s->profile, style, out);
    summary_heading(s->profile, style, out);
    if (!s->items.count) {
        wrap_text(
            "",
            "no scopes; 'with tidemark.scope(\"NAME\"):' in Python and tide::scope in C++ make "
            "them, or marks NAME and NAME.end",
            style->width, out);
        return false;
    }
    wrap_text("",
              "change of the process from begin to end of each scope, over all entries; most and "
              "peak: of one entry",
              style->width, out);
    strbuf_putc(out, '\n');
    return true;
}

static void add_program(const void *answer, struct json *j)
{
    const struct mark_scopes *s = answer;
    json_program(j, s->recording, s->profile);
}

struct document mark_scopes_document(const struct mark_scopes *s)
{
    return (struct document){.schema = "tidemark.scopes/1",
                             .key = "scopes",
                             .rows = {COLUMN_DEFS(columns), ITEMS(s->items), .answer = s},
                             .text = add_heading,
                             .json = add_program};
}
