#include "answer/threads.h"

#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/summary.h"

/* --- columns ---------------------------------------------------------------------------------- */

static double seconds_of(const struct threads *t, const struct timeline_line *l)
{
    uint64_t start = l->info->start_ns, end = l->info->end_ns;
    if (start < t->window.since.time_ns)
        start = t->window.since.time_ns;
    if (!end || end > t->window.at.time_ns)
        end = t->window.at.time_ns;
    return end > start ? (double)(end - start) / 1e9 : 0;
}

/* Allocations per second of its life. */
static struct cell get_rate(struct spot s)
{
    const struct timeline_line *l = s.row;
    double seconds = seconds_of(s.answer, l);
    return CELL_OF(seconds > 0 ? (double)l->allocations / seconds : 0);
}

static struct cell get_whole_rate(struct spot s)
{
    double rate = get_rate(s).real;
    /* A damaged file has any number. */
    return CELL_OF(rate >= 0x1p63 ? INT64_MAX : rate <= -0x1p63 ? INT64_MIN : (int64_t)rate);
}

/* The share of the process's peak. */
static struct cell get_share(struct spot s)
{
    const struct threads *t = s.answer;
    const struct timeline_line *l = s.row;
    double peak = (double)t->profile->peak_bytes;
    return peak > 0        ? CELL_OF((double)l->at_peak_bytes / peak)
           : s.column->key ? CELL_OF(0.0)
                           : CELL_NOT_KNOWN;
}

static struct cell get_frees(struct spot s)
{
    const struct timeline_line *l = s.row;
    return CELL_OF((int64_t)((uint64_t)l->allocations - (uint64_t)l->live_blocks));
}

static void json_series(struct json *j, const char *key, const int64_t *values, size_t count)
{
    json_array(j, key);
    for (size_t i = 0; i < count; i++)
        json_i64(j, NULL, values[i]);
    json_end(j);
}

/* The values of the column's line at all moments. */
static void json_line(struct spot s, const char *key, struct json *j)
{
    const struct timeline_line *l = s.row;
    const int64_t *const lines[] = {l->live, l->allocated, l->foreign};
    json_series(j, key, lines[s.column->number], ((const struct threads *)s.answer)->moments);
}

static bool frees_others(const void *answer)
{
    const struct threads *t = answer;
    for (size_t i = 0; i < t->lines.count; i++)
        if (t->lines.items[i].foreign_blocks)
            return true;
    return false;
}

#define LINE(member)   FIELD(struct timeline_line, member)
#define THREAD(member) FIELD_OF(struct timeline_line, info, struct thread, member)

/* In the order of the text; in CSV, what a thread freed of others comes last. */
static const struct column_def columns[] = {
    {NULL, "thread", COLUMN_TITLE, LINE(name)},
    {NULL, "highest", COLUMN_BYTES, LINE(highest_bytes)},
    {NULL, "at peak", COLUMN_BYTES, LINE(at_peak_bytes)},
    {NULL, "%", COLUMN_PERCENT, .get = get_share},
    {NULL, "live", COLUMN_BYTES, LINE(live_bytes)},
    {NULL, "allocated", COLUMN_BYTES, LINE(allocated_bytes)},
    {NULL, "calls", COLUMN_COUNT, LINE(allocations), .spare = 3},
    {NULL, "calls/s", COLUMN_COUNT, .get = get_whole_rate, .spare = 2},
    {NULL, "of others", COLUMN_BYTES, LINE(foreign_bytes), .in_text = frees_others},
    {NULL, "began", COLUMN_TIME, THREAD(start_ns), .spare = 1},
    {"thread", NULL, COLUMN_TITLE, LINE(name), .json_if = COLUMN_NEVER},
    {"name", NULL, COLUMN_TITLE, THREAD(name), .csv_if = COLUMN_NEVER},
    {"label", NULL, COLUMN_TITLE, LINE(name), .csv_if = COLUMN_NEVER},
    {"tid", NULL, COLUMN_COUNT, THREAD(tid)},
    {"start_ns", NULL, COLUMN_TIME, THREAD(start_ns)},
    {"end_ns", NULL, COLUMN_TIME, THREAD(end_ns), .zero_is_unknown = true},
    {"live_bytes", NULL, COLUMN_BYTES, LINE(live_bytes)},
    {"live_blocks", NULL, COLUMN_COUNT, LINE(live_blocks)},
    {"allocations", NULL, COLUMN_COUNT, LINE(allocations)},
    {"frees", NULL, COLUMN_COUNT, .get = get_frees, .csv_if = COLUMN_NEVER},
    {"bytes_allocated", NULL, COLUMN_BYTES, LINE(allocated_bytes), .csv_if = COLUMN_NEVER},
    {"peak_bytes", NULL, COLUMN_BYTES, LINE(highest_bytes), .csv_if = COLUMN_NEVER},
    {"peak_time_ns", NULL, COLUMN_TIME, LINE(highest_ns), .csv_if = COLUMN_NEVER},
    {"allocated_bytes", NULL, COLUMN_BYTES, LINE(allocated_bytes)},
    {"freed_bytes", NULL, COLUMN_BYTES, LINE(freed_bytes)},
    {"freed_of_others_bytes", NULL, COLUMN_BYTES, LINE(foreign_bytes), .csv_if = COLUMN_NEVER},
    {"freed_of_others_blocks", NULL, COLUMN_COUNT, LINE(foreign_blocks), .csv_if = COLUMN_NEVER},
    {"allocations_per_second", NULL, COLUMN_REAL, .get = get_rate, .csv_if = COLUMN_NEVER},
    {"at_peak_bytes", NULL, COLUMN_BYTES, LINE(at_peak_bytes)},
    {"peak_share", NULL, COLUMN_PERCENT, .get = get_share, .csv_if = COLUMN_NEVER},
    {"highest_bytes", NULL, COLUMN_BYTES, LINE(highest_bytes)},
    {"highest_ns", NULL, COLUMN_TIME, LINE(highest_ns)},
    {"frees", NULL, COLUMN_COUNT, .get = get_frees, .json_if = COLUMN_NEVER},
    {"allocations_per_second", NULL, COLUMN_REAL, .get = get_rate, .json_if = COLUMN_NEVER},
    {"peak_share", NULL, COLUMN_PERCENT, .get = get_share, .json_if = COLUMN_NEVER},
    {"freed_of_others_bytes", NULL, COLUMN_BYTES, LINE(foreign_bytes), .json_if = COLUMN_NEVER},
    {"freed_of_others_blocks", NULL, COLUMN_COUNT, LINE(foreign_blocks), .json_if = COLUMN_NEVER},
    {"live", NULL, COLUMN_WORDS, .json = json_line, .number = 0},
    {"allocated", NULL, COLUMN_WORDS, .json = json_line, .number = 1},
    {"freed_of_others", NULL, COLUMN_WORDS, .json = json_line, .number = 2},
};

static void add_left_out(const void *answer, size_t first, struct strbuf *out)
{
    const struct threads *t = answer;
    int64_t live = 0, allocated = 0;
    for (size_t i = first; i < t->lines.count; i++) {
        live = wrapped(live, t->lines.items[i].live_bytes);
        allocated = wrapped(allocated, t->lines.items[i].allocated_bytes);
    }
    say(out, " with %B allocated, %B live", allocated, live);
}

static bool add_heading(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct threads *t = answer;
    summary_choice(t->recording, t->profile, s, out);
    summary_heading(t->profile, s, out);
    say(out,
        "%N thread(s); peak of the process %B. A block counts for the thread that allocated "
        "it%r.\n\n",
        t->lines.count, t->profile->peak_bytes,
        frees_others(t) ? ";\n'of others' is what a thread freed that another had allocated" : "");
    size_t before = out->size;
    summary_arenas(t->profile, out);
    strbuf_puts(out, out->size > before ? "\n" : "");
    return true;
}

static void add_json(const void *answer, struct json *j)
{
    const struct threads *t = answer;
    json_program(j, t->recording, t->profile);
    json_u64(j, "peak_bytes", t->profile->peak_bytes);
    json_array(j, "moments_ns");
    for (size_t i = 0; i < t->moments; i++)
        json_u64(j, NULL, t->time_ns[i]);
    json_end(j);
    json_series(j, "process", t->process, t->moments);
}

struct document threads_document(const struct threads *t, size_t top)
{
    return (struct document){.schema = "tidemark.threads/1",
                             .key = "threads",
                             .rows = {COLUMN_DEFS(columns), ITEMS(t->lines), .answer = t,
                                      .top = top, .noun = "thread", .left_out = add_left_out},
                             .text = add_heading,
                             .json = add_json};
}
