/*
 * A report as text: the title of the metric, the table (report_columns.c), histograms, the lines
 * below it. The first lines are those of summary.h.
 */
#include "answer/next_command.h"
#include "base/say.h"
#include "base/text.h"
#include "answer/report.h"

#include <string.h>

#include "model/imported.h"
#include "model/sample_sums.h"
#include "answer/histogram.h"
#include "answer/merge.h"
#include "answer/report_columns.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"

#define STACK_FRAMES 64 /* lines shown of one stack */

/* The words for one, and for many. */
static const char *const *counted(enum metric m)
{
    static const char *const calls[] = {"call", "calls"}, *const maps[] = {"map", "maps"},
                             *const samples[] = {"sample", "samples"},
                             *const waits[] = {"wait", "waits"}, *const times[] = {"time", "times"},
                             *const faults[] = {"fault", "faults"},
                             *const blocks[] = {"block", "blocks"};
    return m == METRIC_TOTAL || m == METRIC_TEMPORARY  ? calls
           : m == METRIC_MAPPED                        ? maps
           : m == METRIC_CPU || m == METRIC_SAMPLES    ? samples
           : m == METRIC_WAITING                       ? waits
           : m == METRIC_WALL                          ? times
           : m == METRIC_FAULTS || m == METRIC_TOUCHED ? faults
                                                       : blocks;
}

const char *report_count_title(enum metric m)
{
    return counted(m)[1];
}

const char *report_count_word(enum metric m)
{
    return counted(m)[0];
}

const char *report_metric_title(enum metric m)
{
    static const char *const what[METRICS] = {
        [METRIC_LIVE] = "live bytes",
        [METRIC_TOTAL] = "bytes allocated in total",
        [METRIC_PEAK] = "live bytes at the peak",
        [METRIC_SITEPEAK] = "highest live bytes of each stack",
        [METRIC_LARGEST] = "largest single allocation",
        [METRIC_TEMPORARY] = "bytes of temporary allocations",
        [METRIC_MAPPED] = "mapped bytes",
        [METRIC_POOL] = "live bytes in pools",
        [METRIC_GPU] = "live bytes of graphics processors",
        [METRIC_TENSOR] = "live bytes of tensors on graphics processors",
        [METRIC_UNTOUCHED] = "untouched bytes of live and freed blocks",
        [METRIC_CPU] = "CPU time",
        [METRIC_WALL] = "time on and off the processor",
        [METRIC_WAITING] = "time spent waiting",
        [METRIC_SAMPLES] = "samples",
        [METRIC_FAULTS] = "memory made resident by page faults",
        [METRIC_TOUCHED] = "memory made resident, charged to the code that allocated it,",
    };
    return what[m] ? what[m] : metric_name(m);
}

/* Says in one line what the numbers below are. */
static void add_heading(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct query *q = a->query;
    strbuf_puts(out, style_bold(s));
    bool change = a->window.since.intervals || a->window.since.peak;
    strbuf_printf(out, "%s%s", change && !metric_is_sampled(q->metric) ? "change of " : "",
                  report_metric_title(q->metric));
    if (q->metric == METRIC_LARGEST && a->profile->sample_bytes)
        strbuf_puts(out, " of those that were sampled,");
    if (q->size != SIZE_REQUESTED)
        strbuf_printf(out, " (%s)",
                      q->size == SIZE_USABLE ? "as reserved by the allocator"
                                             : "allocator's rounding");
    if (q->shape == SHAPE_CALLERS || q->shape == SHAPE_CALLEES) {
        say(out, ", %r of %s: ", q->shape == SHAPE_CALLERS ? "callers" : "callees", a->of.name);
        unit_amount(out, q->metric, a->of.total.amount);
    } else {
        strbuf_printf(out, " by %s%s: ", grouping_name(q->by),
                      q->shape == SHAPE_TREE ? ", as a tree" : "");
        unit_amount(out, q->metric, a->tree.sum.amount);
    }
    strbuf_printf(out, "%s\n", style_plain(s));
}

static void add_table(const struct answer *a, const struct style *s, struct strbuf *out)
{
    struct report_table table;
    report_table_init(&table, a);
    rows_text(&table.rows, s, out);
    report_table_release(&table);
}

/* Adds the histogram of this row, if each row has one. */
static void add_histogram(const struct answer *a, size_t row, const struct style *s,
                          struct strbuf *out)
{
    if (a->query->histogram_rows)
        histogram_text(a, &a->histograms.rows.items[row], s, out);
}

/* Adds the spread of a stack in a merged recording, as a line of its own. */
static void add_stack_spread(const struct answer *a, const struct answer_row *row,
                             struct strbuf *out)
{
    const struct merge *m = a->profile->merge;
    if (!m)
        return;
    strbuf_puts(out, "    ");
    merge_spread_words(m, row->self_spread, a->query->metric, out);
    strbuf_putc(out, '\n');
}

static void add_stacks(const struct answer *a, const struct style *s, struct strbuf *out)
{
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        say(out, "%r%r", i ? "\n" : "", style_bold(s));
        unit_amount(out, a->query->metric, row->self.amount);
        say(out, "%r (", style_plain(s));
        unit_percent(out, (double)row->self.amount, (double)a->tree.scale);
        strbuf_puts(out, " %)");
        if (known_counts(a->profile, a->query->metric)) {
            strbuf_puts(out, " in ");
            unit_counted(out, row->self.count, report_count_word(a->query->metric));
        }
        say(out, ", thread %s\n", row->thread && *row->thread ? row->thread : "[unknown]");
        add_stack_spread(a, row, out);
        stack_text(&a->frames, &a->merged, row->call, STACK_FRAMES, s, out);
        add_histogram(a, i, s, out);
    }
}

/* Adds a histogram for each row, with what the table would show for it. */
static void add_histograms(const struct answer *a, const struct style *s, struct strbuf *out)
{
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        if (!row->self.count) /* it only calls functions that allocate */
            continue;
        say(out, "%r%r%s%r  %B in %N call(s)\n", i ? "\n" : "", style_bold(s), row->name,
            style_plain(s), row->self.amount, row->self.count);
        add_histogram(a, i, s, out);
    }
}

/* Rows of functions, lines, libraries and files have what they allocated themselves, and what
 * others did for them. */
static void add_left_out(const struct answer *a, struct strbuf *out)
{
    bool self = a->query->by != BY_STACK && a->query->by != BY_THREAD;
    if (!a->rows.left_out)
        return;
    say(out, "... %N more row(s) with ", a->rows.left_out);
    unit_amount(out, a->query->metric, a->rows.left_out_value.amount);
    say(out, "%r; --top 0 --min 0 shows all\n", self ? " of their own" : "");
}

/* Suggests one command that is likely to lead further. */
static void add_next(const struct answer *a, const char *file, const struct style *s,
                     struct strbuf *out)
{
    const struct query *q = a->query;
    const struct totals *t = &a->totals;
    const char *more = "--by stack --top 3";
    if (a->profile->imported.from && (!a->rows.rows.count || q->metric == METRIC_TOTAL))
        more = q->by == BY_STACK ? "--tree" : "--by stack --top 3"; /* others may not be known */
    else if (!a->rows.rows.count)
        more = metric_is_sampled(q->metric) ? "--by thread"
               : q->metric == METRIC_TOTAL  ? "--metric peak"
                                            : "--metric total";
    else if (q->by == BY_STACK)
        more = "--tree";
    else if (q->metric == METRIC_LIVE && !q->since && !q->at &&
             (t->live_bytes < (int64_t)(t->peak_bytes / 20) || summary_python_freed(a)))
        more = "--metric peak";
    else if (q->metric == METRIC_TOTAL && t->temporary_allocations > t->allocations / 2)
        more = "--metric temporary";
    strbuf_printf(out, "\n%snext: tidemark report ", style_faint(s));
    next_file(out, file);
    next_option(out, "--process", q->process);
    next_option(out, "--since", q->since);
    next_option(out, "--at", q->at);
    next_filter(out, &q->filter);
    if (!text_begins(more, "--metric") && q->metric != METRIC_LIVE)
        strbuf_printf(out, " --metric %s", metric_name(q->metric));
    strbuf_printf(out, " %s%s\n", more, style_plain(s));
}

void report_text(const struct answer *a, const char *file, const struct style *s,
                 struct strbuf *out)
{
    summary_processes(a->recording, a->profile, s, out);
    summary_text(a, s, out);
    if (!a->rows.rows.count && not_recorded(a->profile, &(size_t){0}) == RECORDED_NOTHING)
        return; /* there is no table, and nothing further to ask */
    strbuf_putc(out, '\n');
    if (a->query->histogram)
        histogram_heading(a, s, out);
    else
        add_heading(a, s, out);
    if (a->query->histogram && !a->query->histogram_rows) {
        histogram_text(a, &a->histograms.all, s, out);
        return;
    }
    if (!a->rows.rows.count)
        strbuf_puts(out, "nothing to show\n");
    else if (a->query->by == BY_STACK && a->query->shape != SHAPE_TREE)
        add_stacks(a, s, out);
    else if (a->query->histogram)
        add_histograms(a, s, out);
    else
        add_table(a, s, out);
    add_left_out(a, out);
    if (a->query->by == BY_FUNCTION && a->query->shape == SHAPE_TABLE && !a->query->histogram &&
        !metric_is_sampled(a->query->metric) && a->query->metric != METRIC_LARGEST)
        summary_wrappers(a, s, out);
    if (!a->query->histogram)
        add_next(a, file, s, out);
}
