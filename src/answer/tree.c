#include "answer/tree.h"

#include <string.h>

#include "base/say.h"
#include "answer/columns.h"
#include "answer/json_parts.h"
#include "answer/location.h"

/* What the columns are asked about. */
struct listing {
    const struct tree *tree;
    const struct frame_table *frames;
    const char *prefix;
};

/* --- columns ---------------------------------------------------------------------------------- */

static const struct call_frame *frame_of(struct spot s)
{
    const struct listing *l = s.answer;
    const struct tree_call *call = s.row;
    return &l->frames->frames.items[l->tree->tree.key.items[call->node]];
}

static struct cell get_function(struct spot s)
{
    const struct listing *l = s.answer;
    return CELL_OF(frame_table_string(l->frames, frame_of(s)->name));
}

static struct cell get_module(struct spot s)
{
    const struct listing *l = s.answer;
    return CELL_OF(frame_table_known(l->frames, frame_of(s)->module));
}

static struct cell get_file(struct spot s)
{
    const struct listing *l = s.answer;
    const char *file = frame_table_known(l->frames, frame_of(s)->file);
    size_t size = l->prefix ? strlen(l->prefix) : 0;
    return CELL_OF(file && size && strncmp(file, l->prefix, size) == 0 ? file + size : file);
}

static struct cell get_line(struct spot s)
{
    return CELL_OF(frame_of(s)->line);
}

static struct cell get_where(struct spot s)
{
    const struct listing *l = s.answer;
    const char *file = get_file(s).text;
    uint32_t line = frame_of(s)->line;
    if (file && l->prefix)
        say(s.made, line ? "%s:%d" : "%s", file, line);
    else
        location_put(s.made, file, line, get_module(s).text);
    return CELL_OF(s.made->data);
}

#define CALL(member) FIELD(struct tree_call, member)

static const struct column_def columns[] = {
    {"depth", NULL, COLUMN_COUNT, CALL(depth)},
    {"function", NULL, COLUMN_NAME, .get = get_function},
    {"module", NULL, COLUMN_WORD, .get = get_module},
    {"file", NULL, COLUMN_PATH, .get = get_file},
    {"line", NULL, COLUMN_COUNT, .get = get_line, .zero_is_unknown = true},
    {"first_ns", "first at", COLUMN_TIME, CALL(first_ns)},
    {"gained_bytes", "gained", COLUMN_BYTES, CALL(gained), .blank = true},
    {"freed_bytes", "freed", COLUMN_BYTES, CALL(freed), .blank = true},
    {"count", "calls", COLUMN_COUNT, CALL(count)},
    {"self_gained_bytes", NULL, COLUMN_BYTES, CALL(own_gained)},
    {"self_freed_bytes", NULL, COLUMN_BYTES, CALL(own_freed)},
    {NULL, "depth", COLUMN_COUNT, CALL(depth), .text_if = COLUMN_DEEP},
    {NULL, "call", COLUMN_CALL, .get = get_function},
    {NULL, "where", COLUMN_PATH, .get = get_where},
};

static struct listing listing_of(const struct tree *d, const char *prefix)
{
    return (struct listing){d, &d->places.total.frames, prefix};
}

static struct rows rows_of(const struct listing *l)
{
    return (struct rows){COLUMN_DEFS(columns), ITEMS(l->tree->calls), .answer = l,
                         DEPTH(struct tree_call, depth), .noun = "call"};
}

/* --- text, JSON and CSV ----------------------------------------------------------------------- */

void tree_text(const struct tree *d, const char *heading, const char *prefix, size_t top,
               const struct style *s, struct strbuf *out)
{
    const struct listing l = listing_of(d, prefix);
    struct rows rows = rows_of(&l);
    rows.top = top;
    say(out, "%r%r%r\nfrom %T to %T; each call with all that it called\n\n", style_bold(s), heading,
        style_plain(s), d->window.since.time_ns, d->window.at.time_ns);
    if (d->calls.count)
        rows_text(&rows, s, out);
    else
        strbuf_puts(out, "nothing was allocated or freed\n");
}

void tree_json(const struct recording *r, const struct tree *d, const struct tree_peak *peak,
               const char *prefix, struct strbuf *out)
{
    const struct listing l = listing_of(d, prefix);
    const struct rows rows = rows_of(&l);
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
    rows_json(&rows, "calls", NULL, &j);
    json_end(&j);
}

void tree_csv(const struct tree *d, const char *prefix, struct strbuf *out)
{
    const struct listing l = listing_of(d, prefix);
    const struct rows rows = rows_of(&l);
    rows_csv(&rows, NULL, out);
}
