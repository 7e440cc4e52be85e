#include "answer/tree.h"

#include <string.h>

#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/summary.h"

/* --- columns ---------------------------------------------------------------------------------- */

static const struct call_frame *frame_of(struct spot s)
{
    const struct tree_listing *l = s.answer;
    const struct tree_call *call = s.row;
    return &l->tree->places.total.frames.frames.items[l->tree->tree.key.items[call->node]];
}

static struct cell get_function(struct spot s)
{
    const struct tree_listing *l = s.answer;
    return CELL_OF(frame_table_string(&l->tree->places.total.frames, frame_of(s)->name));
}

static struct cell get_module(struct spot s)
{
    const struct tree_listing *l = s.answer;
    return CELL_OF(frame_table_known(&l->tree->places.total.frames, frame_of(s)->module));
}

static struct cell get_file(struct spot s)
{
    const struct tree_listing *l = s.answer;
    const char *file = frame_table_known(&l->tree->places.total.frames, frame_of(s)->file);
    size_t size = l->prefix ? strlen(l->prefix) : 0;
    return CELL_OF(file && size && strncmp(file, l->prefix, size) == 0 ? file + size : file);
}

static struct cell get_line(struct spot s)
{
    return CELL_OF(frame_of(s)->line);
}

static struct cell get_where(struct spot s)
{
    const struct tree_listing *l = s.answer;
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
    {"first_ns", "began before", COLUMN_TIME, CALL(first_ns)},
    {"gained_bytes", "gained", COLUMN_BYTES, CALL(gained), .blank = true},
    {"freed_bytes", "freed", COLUMN_BYTES, CALL(freed), .blank = true},
    {"count", "calls", COLUMN_COUNT, CALL(count)},
    {"self_gained_bytes", NULL, COLUMN_BYTES, CALL(own_gained)},
    {"self_freed_bytes", NULL, COLUMN_BYTES, CALL(own_freed)},
    {NULL, "depth", COLUMN_COUNT, CALL(depth), .text_if = COLUMN_DEEP},
    {NULL, "call", COLUMN_CALL, .get = get_function},
    {NULL, "where", COLUMN_PATH, .get = get_where},
};

/* --- text and JSON ---------------------------------------------------------------------------- */

static bool add_heading(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct tree_listing *l = answer;
    const struct tree *d = l->tree;
    summary_choice(d->places.total.recording, d->places.total.profile, s, out);
    summary_sampled(d->places.total.profile, s, out);
    say(out, "%r%r%r\nfrom %T to %T; each row includes all functions that it called\n\n",
        style_bold(s), l->heading, style_plain(s), d->window.since.time_ns, d->window.at.time_ns);
    strbuf_puts(out, d->calls.count ? "" : "nothing was allocated or freed\n");
    return d->calls.count;
}

static void add_json(const void *answer, struct json *j)
{
    const struct tree_listing *l = answer;
    const struct tree *d = l->tree;
    json_program(j, d->places.total.recording, d->places.total.profile);
    json_u64(j, "since_ns", d->window.since.time_ns);
    json_u64(j, "at_ns", d->window.at.time_ns);
    if (!l->peak.number) {
        json_null(j, "peak");
        return;
    }
    json_object(j, "peak");
    json_u64(j, "number", l->peak.number);
    json_i64(j, "bytes", l->peak.bytes);
    json_i64(j, "listed_bytes", l->peak.listed_bytes);
    json_end(j);
}

struct document tree_document(const struct tree_listing *l, size_t top)
{
    return (struct document){.schema = "tidemark.tree/1",
                             .key = "calls",
                             .rows = {COLUMN_DEFS(columns), ITEMS(l->tree->calls), .answer = l,
                                      DEPTH(struct tree_call, depth), .top = top, .noun = "call"},
                             .text = add_heading,
                             .json = add_json};
}
