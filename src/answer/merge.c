#include "answer/merge.h"

#include <string.h>

#include "analyse/outliers.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"
#include "base/say.h"
#include "model/spread.h"

#define OUTLIERS_SHOWN 3
#define OUTLIERS_JSON  100

/* --- the inputs ------------------------------------------------------------------------------- */

struct census {
    size_t hosts, killed, failed, incomplete;
    uint32_t first_killed;
    bool ranks; /* all of them have ranks */
};

static struct census census_of(const struct merge *m)
{
    struct census c = {.ranks = true};
    struct strpool hosts = {0};
    struct map seen = {0};
    for (size_t i = 0; i < m->inputs.count; i++) {
        const struct merge_input *in = &m->inputs.items[i];
        *map_at(&seen, strpool_add(&hosts, in->host)) = 1;
        if (in->signal && !c.killed++)
            c.first_killed = (uint32_t)i;
        c.failed += !in->signal && in->exit_code > 0;
        c.incomplete += !in->complete;
        c.ranks &= in->rank1 != 0;
    }
    c.hosts = seen.count;
    strpool_release(&hosts);
    map_release(&seen);
    return c;
}

void merge_program_text(const struct profile *p, const struct style *s, struct strbuf *out)
{
    const struct merge *m = p->merge;
    struct census c = census_of(m);
    size_t start = summary_begin(out, s, "merged");
    say(out, "%N %r on %N host(s); the longest ran for %T", m->inputs.count,
        c.ranks                ? m->inputs.count == 1 ? "rank" : "ranks"
        : m->inputs.count == 1 ? "recording"
                               : "recordings",
        c.hosts, p->duration_ns);
    if (c.killed)
        say(out, "; %N killed by a signal, the first is %s", c.killed,
            m->inputs.items[c.first_killed].label);
    if (c.failed)
        say(out, "; %N failed", c.failed);
    if (c.incomplete)
        say(out, "; %N incomplete", c.incomplete);
    summary_end(out, s, start);
}

/* --- how values are spread -------------------------------------------------------------------- */

struct cell merge_cell(const struct merge *m, const struct input_spread *spread, int64_t amount,
                       enum merge_column column)
{
    static const struct input_spread none = {0};
    if (!spread && !amount)
        spread = &none;
    if (!spread)
        return CELL_NOT_KNOWN;
    switch (column) {
    case MERGE_INPUTS:
        return CELL_OF(spread->inputs);
    case MERGE_MIN:
        return CELL_OF(spread_min(spread, m));
    case MERGE_MAX:
        return CELL_OF(spread->max);
    case MERGE_MEAN:
        return CELL_OF(spread_mean(spread, m));
    default:
        return spread->inputs ? CELL_OF((const char *)m->inputs.items[spread->where].label)
                              : CELL_NOT_KNOWN;
    }
}

static void outliers_text(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct merge *m = a->profile->merge;
    enum input_value value = outliers_value(a->query->metric);
    struct outliers o;
    outliers_find(&o, m, value);
    if (o.inputs.count) {
        size_t start = summary_begin(out, s, "outliers");
        for (size_t i = 0; i < o.inputs.count && i < OUTLIERS_SHOWN; i++) {
            const struct merge_input *in = &m->inputs.items[o.inputs.items[i]];
            say(out, "%r%s: ", i ? "; " : "", in->label);
            unit_amount(out, a->query->metric, (int64_t)in->values[value]);
        }
        if (o.inputs.count > OUTLIERS_SHOWN)
            say(out, "; %N more", o.inputs.count - OUTLIERS_SHOWN);
        strbuf_puts(out, "; half of all have at most ");
        unit_amount(out, a->query->metric, (int64_t)o.median);
        summary_end(out, s, start);
    }
    outliers_release(&o);
}

void merge_spread_words(const struct merge *m, const struct input_spread *spread,
                        enum metric metric, struct strbuf *out)
{
    if (!spread) {
        strbuf_puts(out, "how it is spread over the inputs is not kept for this question");
        return;
    }
    int64_t least = spread_min(spread, m);
    unit_amount(out, metric, least);
    if (least == spread->max) {
        say(out, " in each of %N", m->inputs.count);
        return;
    }
    strbuf_puts(out, " to ");
    unit_amount(out, metric, spread->max);
    say(out, " (%s), mean ", m->inputs.items[spread->where].label);
    unit_amount(out, metric, spread_mean(spread, m));
    say(out, " over %N", m->inputs.count);
}

void merge_spread_text(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct merge *m = a->profile->merge;
    const struct input_spread *spread = a->sum_spread;
    if (!m || !spread)
        return;
    size_t start = summary_begin(out, s, "spread");
    merge_spread_words(m, spread, a->query->metric, out);
    summary_end(out, s, start);
    if (!a->query->since && !a->query->at)
        outliers_text(a, s, out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_spread(struct json *j, const char *key, const struct merge *m,
                        const struct input_spread *spread)
{
    json_object(j, key);
    json_u64(j, "inputs", spread->inputs);
    json_i64(j, "min_bytes", spread_min(spread, m));
    json_i64(j, "max_bytes", spread->max);
    if (spread->inputs)
        json_string(j, "max_input", m->inputs.items[spread->where].label);
    else
        json_null(j, "max_input");
    json_i64(j, "mean_bytes", spread_mean(spread, m));
    json_end(j);
}

static void json_input_totals(struct json *j, const struct merge *m)
{
    static const char *const keys[INPUT_VALUES] = {
        [INPUT_ALLOCATIONS] = "allocations",
        [INPUT_FREES] = "frees",
        [INPUT_REALLOCATIONS] = "reallocations",
        [INPUT_BYTES_ALLOCATED] = "bytes_allocated",
        [INPUT_LIVE_BLOCKS] = "live_blocks",
        [INPUT_LIVE_BYTES] = "live_bytes",
        [INPUT_PEAK_BYTES] = "peak_bytes",
        [INPUT_TEMPORARY] = "temporary_allocations",
        [INPUT_UNKNOWN_FREES] = "unknown_frees",
        [INPUT_LOST_EVENTS] = "lost_events",
        [INPUT_TRUNCATED] = "truncated_stacks",
        [INPUT_INCOMPLETE] = "incomplete_stacks",
        [INPUT_CPU_NS] = "cpu_ns",
        [INPUT_FAULT_BYTES] = "fault_bytes",
    };
    json_object(j, "totals");
    for (int k = 0; k < INPUT_VALUES; k++) {
        struct input_spread all = {0};
        for (size_t i = 0; i < m->inputs.count; i++) {
            int64_t v = (int64_t)m->inputs.items[i].values[k];
            struct input_spread one = {
                .inputs = v != 0, .sum = v, .min = v, .max = v, .where = (uint32_t)i};
            spread_add(&all, &one, false, false);
        }
        json_object(j, keys[k]);
        json_i64(j, "min", spread_min(&all, m));
        json_i64(j, "max", all.max);
        if (all.inputs)
            json_string(j, "max_input", m->inputs.items[all.where].label);
        else
            json_null(j, "max_input");
        json_i64(j, "mean", spread_mean(&all, m));
        json_end(j);
    }
    json_end(j);
}

static void json_outliers(struct json *j, const struct answer *a)
{
    const struct merge *m = a->profile->merge;
    enum input_value value = outliers_value(a->query->metric);
    struct outliers o;
    outliers_find(&o, m, value);
    json_u64_if(j, "median_bytes", value < INPUT_VALUES, o.median);
    json_array(j, "outliers");
    for (size_t i = 0; i < o.inputs.count && i < OUTLIERS_JSON; i++) {
        const struct merge_input *in = &m->inputs.items[o.inputs.items[i]];
        json_object(j, NULL);
        json_string(j, "input", in->label);
        json_u64(j, "bytes", in->values[value]);
        json_end(j);
    }
    json_end(j);
    outliers_release(&o);
}

void merge_json(struct json *j, const struct answer *a)
{
    const struct merge *m = a->profile->merge;
    if (!m)
        return;
    struct census c = census_of(m);
    json_object(j, "merged");
    json_u64(j, "inputs", m->inputs.count);
    json_bool(j, "ranks", c.ranks);
    json_u64(j, "hosts", c.hosts);
    json_u64(j, "killed", c.killed);
    json_u64(j, "failed", c.failed);
    json_u64(j, "incomplete", c.incomplete);
    json_bool(j, "filters_differ", m->filters_differ);
    json_input_totals(j, m);
    if (a->sum_spread)
        json_spread(j, "sum", m, a->sum_spread);
    else
        json_null(j, "sum");
    json_outliers(j, a);
    json_end(j);
}

/* --- the table of inputs ---------------------------------------------------------------------- */

static struct cell get_value(struct spot s)
{
    const struct merge_input *in = s.row;
    return CELL_OF(in->values[s.column->number]);
}

static struct cell get_rank(struct spot s)
{
    const struct merge_input *in = s.row;
    return in->rank1 ? CELL_OF((uint64_t)(in->rank1 - 1)) : CELL_NOT_KNOWN;
}

static struct cell get_exit(struct spot s)
{
    const struct merge_input *in = s.row;
    return in->exit_code >= 0 ? CELL_OF((int64_t)in->exit_code) : CELL_NOT_KNOWN;
}

static bool inputs_heading(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct profile *p = answer;
    summary_label(out, s, "command");
    summary_command(p, s->width > 51 ? s->width - SUMMARY_LABEL : 40, out);
    strbuf_putc(out, '\n');
    merge_program_text(p, s, out);
    strbuf_putc(out, '\n');
    return true;
}

#define INPUT(member) FIELD(struct merge_input, member)
#define VALUE(key, title, kind, which)                                                             \
    {                                                                                              \
        key, title, kind, .get = get_value, .number = which                                        \
    }

struct document merge_inputs_document(const struct profile *p)
{
    static const struct column_def columns[] = {
        {"input", "input", COLUMN_PATH, INPUT(label)},
        {"rank", NULL, COLUMN_COUNT, .get = get_rank},
        {"host", "host", COLUMN_WORD, INPUT(host)},
        {"pid", NULL, COLUMN_COUNT, INPUT(pid)},
        {"program", NULL, COLUMN_WORD, INPUT(program)},
        {"file", NULL, COLUMN_PATH, INPUT(file)},
        {"processes", NULL, COLUMN_COUNT, INPUT(processes)},
        {"start_unix_ns", NULL, COLUMN_COUNT, INPUT(start_unix_ns)},
        {"duration_ns", "ran", COLUMN_TIME, INPUT(duration_ns)},
        {"exit_code", "exit", COLUMN_COUNT, .get = get_exit},
        {"signal", "signal", COLUMN_COUNT, INPUT(signal), .zero_is_unknown = true, .if_any = true},
        {"complete", NULL, COLUMN_WORD, INPUT(complete)},
        VALUE("peak_bytes", "peak", COLUMN_BYTES, INPUT_PEAK_BYTES),
        VALUE("live_bytes", "live", COLUMN_BYTES, INPUT_LIVE_BYTES),
        VALUE("live_blocks", NULL, COLUMN_COUNT, INPUT_LIVE_BLOCKS),
        VALUE("bytes_allocated", "allocated", COLUMN_BYTES, INPUT_BYTES_ALLOCATED),
        VALUE("allocations", "calls", COLUMN_COUNT, INPUT_ALLOCATIONS),
        VALUE("frees", NULL, COLUMN_COUNT, INPUT_FREES),
        VALUE("reallocations", NULL, COLUMN_COUNT, INPUT_REALLOCATIONS),
        VALUE("temporary_allocations", NULL, COLUMN_COUNT, INPUT_TEMPORARY),
        VALUE("unknown_frees", NULL, COLUMN_COUNT, INPUT_UNKNOWN_FREES),
        VALUE("lost_events", NULL, COLUMN_COUNT, INPUT_LOST_EVENTS),
        VALUE("truncated_stacks", NULL, COLUMN_COUNT, INPUT_TRUNCATED),
        VALUE("incomplete_stacks", NULL, COLUMN_COUNT, INPUT_INCOMPLETE),
        VALUE("cpu_ns", NULL, COLUMN_TIME, INPUT_CPU_NS),
        VALUE("fault_bytes", NULL, COLUMN_BYTES, INPUT_FAULT_BYTES),
    };
    return (struct document){
        .schema = "tidemark.inputs/1",
        .key = "inputs",
        .rows = {COLUMN_DEFS(columns), .answer = p, ITEMS(p->merge->inputs), .noun = "input"},
        .text = inputs_heading};
}
