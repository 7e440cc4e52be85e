#include "answer/history.h"

#include <time.h>

#include "answer/location.h"
#include "answer/report.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"
#include "base/say.h"
#include "model/answer_rows.h"
#include "model/estimate.h"

/* --- columns ---------------------------------------------------------------------------------- */

static const struct history *history_of(struct spot s)
{
    return s.answer;
}

static struct cell get_started(struct spot s)
{
    const struct history_run *r = s.row;
    time_t seconds = (time_t)(r->start_unix_ns / 1000000000);
    struct tm tm;
    char text[32] = "";
    if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm))
        return CELL_NOT_KNOWN;
    strbuf_puts(s.made, text);
    return CELL_OF((const char *)s.made->data);
}

static struct cell get_labels(struct spot s)
{
    const struct history_run *r = s.row;
    strbuf_puts(s.made, "");
    for (size_t i = 0; i < r->labels.count; i++)
        say(s.made, "%r%s=%s", i ? " " : "", r->labels.items[i].key, r->labels.items[i].value);
    return CELL_OF((const char *)s.made->data);
}

static void json_labels(struct spot s, const char *key, struct json *j)
{
    const struct history_run *r = s.row;
    json_object(j, key);
    for (size_t i = 0; i < r->labels.count; i++)
        json_string(j, r->labels.items[i].key, r->labels.items[i].value);
    json_end(j);
}

enum { AMOUNT, COUNT, CHANGE };

static struct cell get_figure(struct spot s)
{
    const struct history_run *r = s.row;
    if (s.column->number == CHANGE)
        return r->compared ? CELL_OF(r->change_bytes) : CELL_NOT_KNOWN;
    if (!r->known)
        return CELL_NOT_KNOWN;
    return s.column->number == AMOUNT ? CELL_OF(r->bytes) : CELL_OF(r->count);
}

static struct cell get_share(struct spot s)
{
    const struct history_run *r = s.row;
    double before = (double)r->bytes - (double)r->change_bytes;
    if (!r->compared || before == 0)
        return CELL_NOT_KNOWN;
    return CELL_OF((double)r->change_bytes / before);
}

/* Are the metric's figures estimates? Those of mappings, pools and CPU time are not. */
static bool is_estimated(const struct history *h, const struct history_run *r)
{
    const struct profile p = {.sample_bytes = r->sample_bytes};
    return metric_is_estimated(&p, h->metric);
}

static struct cell get_sampled(struct spot s)
{
    const struct history_run *r = s.row;
    return is_estimated(history_of(s), r) ? CELL_OF(r->sample_bytes) : CELL_NOT_KNOWN;
}

static struct cell get_estimated(struct spot s)
{
    const struct history_run *r = s.row;
    strbuf_puts(s.made, "");
    if (is_estimated(history_of(s), r))
        say(s.made, "one per %B", r->sample_bytes);
    return CELL_OF((const char *)s.made->data);
}

static struct cell get_exit(struct spot s)
{
    const struct history_run *r = s.row;
    return r->exit_code >= 0 ? CELL_OF((int64_t)r->exit_code) : CELL_NOT_KNOWN;
}

/* "parse +1.2 MiB": the function that changed most. */
static struct cell get_largest(struct spot s)
{
    const struct history *h = history_of(s);
    const struct history_run *r = s.row;
    strbuf_puts(s.made, "");
    if (r->changes.count) {
        const struct history_change *c = &r->changes.items[0];
        int64_t change = wrapped_less(c->after, c->before);
        location_bare_name(s.made, strpool_get(&h->strings, c->name), 40);
        strbuf_puts(s.made, change > 0 ? " +" : " ");
        unit_amount(s.made, h->metric, change);
    }
    return CELL_OF((const char *)s.made->data);
}

static void json_changes(struct spot s, const char *key, struct json *j)
{
    const struct history *h = history_of(s);
    const struct history_run *r = s.row;
    json_array(j, key);
    for (size_t i = 0; i < r->changes.count; i++) {
        const struct history_change *c = &r->changes.items[i];
        json_object(j, NULL);
        json_string(j, "name", strpool_get(&h->strings, c->name));
        json_string(j, "module", c->module ? strpool_get(&h->strings, c->module) : NULL);
        json_i64(j, "before_bytes", c->before);
        json_i64(j, "after_bytes", c->after);
        json_end(j);
    }
    json_end(j);
}

#define RUN(member) FIELD(struct history_run, member)

/* --- the document ----------------------------------------------------------------------------- */

static bool heading(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct history *h = answer;
    if (!h->runs.count) {
        strbuf_puts(out, "no runs\n");
        return false;
    }
    say(out, "%r%N run(s): %r, and what changed from each to the next%r\n", style_bold(s),
        h->runs.count, report_metric_title(h->metric), style_plain(s));
    for (size_t i = 0; i < h->runs.count; i++)
        if (is_estimated(h, &h->runs.items[i])) {
            strbuf_puts(out, "figures of runs with an entry under 'sampled' are estimates\n");
            break;
        }
    return true;
}

static void json_metric(const void *answer, struct json *j)
{
    const struct history *h = answer;
    json_string(j, "metric", metric_name(h->metric));
    json_string(j, "unit", metric_is_time(h->metric) ? "ns" : "bytes");
}

struct document history_document(const struct history *h,
                                 void (*after)(const void *history, struct json *j))
{
    static const struct column_def columns[] = {
        {"id", "run", COLUMN_COUNT, RUN(id)},
        {"start_unix_ns", NULL, COLUMN_COUNT, RUN(start_unix_ns)},
        {NULL, "started (UTC)", COLUMN_WORD, .get = get_started, .spare = 1},
        {"labels", "labels", COLUMN_PATH, .get = get_labels, .json = json_labels, .if_any = true},
        {"file", NULL, COLUMN_PATH, RUN(file)},
        {"program", NULL, COLUMN_WORD, RUN(program)},
        {"host", NULL, COLUMN_WORD, RUN(host)},
        {"inputs", NULL, COLUMN_COUNT, RUN(inputs)},
        {"duration_ns", NULL, COLUMN_TIME, RUN(duration_ns)},
        {"exit_code", NULL, COLUMN_COUNT, .get = get_exit},
        {"signal", NULL, COLUMN_COUNT, RUN(signal), .zero_is_unknown = true},
        {"complete", NULL, COLUMN_WORD, RUN(complete)},
        {"bytes", NULL, COLUMN_AMOUNT, .get = get_figure, .number = AMOUNT},
        {"count", NULL, COLUMN_COUNT, .get = get_figure, .number = COUNT},
        {"sampled_bytes", NULL, COLUMN_COUNT, .get = get_sampled},
        {"change_bytes", NULL, COLUMN_AMOUNT, .get = get_figure, .number = CHANGE},
        {NULL, "amount", COLUMN_AMOUNT, .get = get_figure, .number = AMOUNT},
        {NULL, "change", COLUMN_AMOUNT, .get = get_figure, .number = CHANGE, .plus = true},
        {NULL, "%", COLUMN_PERCENT, .get = get_share, .plus = true},
        {NULL, "sampled", COLUMN_WORD, .get = get_estimated, .if_any = true},
        {"functions", NULL, COLUMN_WORDS, .json = json_changes},
        {NULL, "changed most", COLUMN_TITLE, .get = get_largest, .if_any = true},
    };
    return (struct document){.schema = "tidemark.history/1",
                             .key = "runs",
                             .rows = {COLUMN_DEFS(columns), .answer = h, ITEMS(h->runs),
                                      .metric = h->metric, .noun = "run"},
                             .text = heading,
                             .json = json_metric,
                             .json_after = after};
}
