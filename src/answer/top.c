#include "answer/top.h"

#include <math.h>

#include "base/say.h"
#include "answer/location.h"

static const struct stamp *last_stamp(const struct profile *p)
{
    return p->stamps.count ? vec_last(&p->stamps) : NULL;
}

static double per_second(const struct top *t, int64_t amount)
{
    return t->window_s > 0 ? (double)amount / t->window_s : 0;
}

void top_heading(const struct top *t, struct strbuf *out)
{
    const struct answer *gained = &t->answers[TOP_ASK_GAINED];
    const struct profile *p = gained->profile;
    const struct stamp *stamp = last_stamp(p);
    say(out, "pid %d", p->pid);
    if (p->together)
        say(out, " and others, %N in all", (uint64_t)p->together);
    if (p->sample_bytes)
        say(out, " (sampled: estimates)");
    if (!p->together && gained->recording->profiles.count > 1)
        say(out, " (1 of %N processes)", (uint64_t)gained->recording->profiles.count);
    say(out, " after %T:", gained->window.at.time_ns);
    for (size_t i = 0; i < p->command.count; i++)
        say(out, " %s", p->command.items[i]);
    say(out, "\nlive %B in %N block(s), peak %B", t->now.live_bytes, t->now.live_blocks,
        t->now.peak_bytes);
    if (stamp)
        say(out, ", RSS %B", stamp->rss_bytes);
    if (t->queries[TOP_ASK_HELD].metric == METRIC_LIVE && t->all.bytes != t->now.live_bytes)
        say(out, "; %B of it in the rows", t->all.bytes);
    say(out, "\nlast %T: %+B/s live, %B/s allocated, %N temporary allocations/s\n",
        (uint64_t)(t->window_s * 1e9), llround(per_second(t, gained->totals.live_bytes)),
        llround(per_second(t, gained->totals.bytes_allocated)),
        llround(per_second(t, gained->totals.temporary_allocations)));
}

static bool add_heading(const void *answer, const struct style *s, struct strbuf *out)
{
    (void)s;
    top_heading(answer, out);
    strbuf_puts(out, "\n");
    return true;
}

/* --- columns ---------------------------------------------------------------------------------- */

static struct cell get_share(struct spot s)
{
    const struct top *t = s.answer;
    const struct top_row *row = s.row;
    return t->all.bytes ? CELL_OF((double)row->bytes / (double)t->all.bytes) : CELL_NOT_KNOWN;
}

static struct cell get_rate(struct spot s)
{
    const struct top_row *row = s.row;
    double rate = s.column->number == TOP_GROWTH ? row->growth
                  : s.column->number == TOP_RATE ? row->rate
                                                 : row->temporary;
    return CELL_OF(llround(rate));
}

static struct cell get_where(struct spot s)
{
    const struct top_row *row = s.row;
    enum grouping by = ((const struct top *)s.answer)->queries[TOP_ASK_HELD].by;
    if (by != BY_LIBRARY && by != BY_THREAD)
        location_put(s.made, row->file, row->line, row->module);
    return CELL_OF(s.made->data);
}

static const char *title_of_metric(const void *answer)
{
    return metric_name(((const struct top *)answer)->queries[TOP_ASK_HELD].metric);
}

#define ROW(member) FIELD(struct top_row, member)
#define RATE(sort)  .get = get_rate, .number = (sort)

static const struct column_def columns[] = {
    {"name", NULL, COLUMN_NAME, ROW(name)},
    {"module", NULL, COLUMN_WORD, ROW(module)},
    {"file", NULL, COLUMN_PATH, ROW(file)},
    {"line", NULL, COLUMN_COUNT, ROW(line), .zero_is_unknown = true},
    {"bytes", NULL, COLUMN_AMOUNT, ROW(bytes), .title_of = title_of_metric},
    {NULL, "%", COLUMN_PERCENT, .get = get_share, .spare = 2},
    {"count", "blocks", COLUMN_COUNT, ROW(blocks), .spare = 1},
    {"growth_bytes_per_second", "growth/s", COLUMN_BYTES, RATE(TOP_GROWTH), .plus = true},
    {"allocated_bytes_per_second", "allocated/s", COLUMN_BYTES, RATE(TOP_RATE)},
    {"temporary_bytes_per_second", "temporary/s", COLUMN_BYTES, RATE(TOP_TEMPORARY), .spare = 3},
    {NULL, "name", COLUMN_NAME, ROW(name)},
    {NULL, "where", COLUMN_PATH, .get = get_where, .if_any = true},
};

static void add_members(const void *answer, struct json *j)
{
    const struct top *t = answer;
    const struct answer *gained = &t->answers[TOP_ASK_GAINED];
    const struct stamp *stamp = last_stamp(gained->profile);
    json_i64(j, "pid", gained->profile->pid);
    json_string(j, "metric", metric_name(t->queries[TOP_ASK_HELD].metric));
    json_string(j, "by", grouping_name(gained->query->by));
    json_string(j, "sort", top_sort_name(t->sort));
    json_i64(j, "time_ns", (int64_t)gained->window.at.time_ns);
    json_i64(j, "window_ns", llround(t->window_s * 1e9));
    json_i64(j, "live_bytes", t->now.live_bytes);
    json_i64(j, "live_blocks", t->now.live_blocks);
    json_i64(j, "peak_bytes", (int64_t)t->now.peak_bytes);
    json_i64(j, "shown_bytes", t->all.bytes);
    json_i64_if(j, "rss_bytes", stamp, stamp ? (int64_t)stamp->rss_bytes : 0);
}

struct document top_document(const struct top *t)
{
    return (struct document){.schema = "tidemark.top/1",
                             .key = "rows",
                             .rows = {COLUMN_DEFS(columns), ITEMS(t->rows), .answer = t,
                                      .metric = t->queries[TOP_ASK_HELD].metric, .cut = t->left_out,
                                      .noun = "row"},
                             .text = add_heading,
                             .json = add_members};
}
