/*
 * The difference of two recordings as text: a summary, then what changed. The columns of the table
 * are in diff_columns.c, its rows and their order come from model/diff.c, the marks from
 * diff_marks.c.
 */
#include "base/say.h"
#include "answer/diff.h"
#include "answer/next_command.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"
#include "model/imported.h"

#define STACK_FRAMES 64 /* lines shown of one stack */

static const char *const letters[] = {"a", "b"};

static void amount_change(struct strbuf *out, const struct diff *d, int64_t change)
{
    strbuf_puts(out, change > 0 ? "+" : "");
    unit_amount(out, d->query->metric, change);
}

/* "1.0 KiB -> 2.0 KiB (+1.0 KiB, +100.0 %)"; `unknown` is what a figure is of. */
static void line_bytes(const struct diff *d, struct strbuf *out, const struct style *s,
                       const char *label, uint32_t unknown, const uint64_t v[2])
{
    bool known = true;
    summary_label(out, s, label);
    for (int i = 0; i < 2; i++) {
        bool here = !(d->side[i].answer.totals.unknown & unknown);
        strbuf_puts(out, i ? " -> " : "");
        if (here)
            say(out, "%B", v[i]);
        else
            strbuf_puts(out, "not known");
        known &= here;
    }
    int64_t change = (int64_t)(v[1] - v[0]);
    if (!known)
        return;
    if (!change)
        strbuf_puts(out, " (no change)");
    else if (v[0])
        say(out, " (%+B, %+P %%)", change,
            (double)change / (double)amount_size((int64_t)v[0]) * 100);
    else
        say(out, " (%+B)", change);
}

/* " in 3 -> 5 blocks (+2)" */
static void add_counts(const struct diff *d, struct strbuf *out, uint32_t unknown, int64_t a,
                       int64_t b, const char *what)
{
    if ((d->side[0].answer.totals.unknown | d->side[1].answer.totals.unknown) &
        (unknown | UNKNOWN_COUNTS))
        strbuf_putc(out, '\n');
    else if (a == b)
        say(out, " in %N %r(s)\n", a, what);
    else
        say(out, " in %N -> %N %r(s) (%+N)\n", a, b, what, (int64_t)((uint64_t)b - (uint64_t)a));
}

static void line_ran(const struct diff *d, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "ran");
    for (int i = 0; i < 2; i++) {
        const struct profile *p = d->side[i].profile;
        say(out, "%r%r %T, ", i ? "; " : "", letters[i], p->duration_ns);
        summary_ending(p, out);
        if (p->together > 1)
            say(out, ", %d %r", p->together, p->merge ? "recordings" : "processes");
        else if (d->side[i].recording->profiles.count > 1)
            say(out, ", pid %d of %d processes", p->pid, d->side[i].recording->profiles.count);
    }
    strbuf_putc(out, '\n');
}

static void line_window(const struct diff *d, const struct style *s, struct strbuf *out)
{
    if (!d->query->since && !d->query->at)
        return;
    summary_label(out, s, "window");
    say(out, "from %s to %s", d->query->since ? d->query->since : "start",
        d->query->at ? d->query->at : "end");
    for (int i = 0; i < 2; i++) {
        const struct window *w = &d->side[i].answer.window;
        say(out, "; %r %T to %T", letters[i], w->since.time_ns, w->at.time_ns);
    }
    strbuf_putc(out, '\n');
}

static void line_totals(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct totals *a = &d->side[0].answer.totals, *b = &d->side[1].answer.totals;
    if (d->side[0].profile->sampling.alone || d->side[1].profile->sampling.alone)
        return; /* the heap was not recorded */
    line_bytes(d, out, s, "allocated", UNKNOWN_TOTALS,
               (const uint64_t[]){(uint64_t)a->bytes_allocated, (uint64_t)b->bytes_allocated});
    add_counts(d, out, UNKNOWN_TOTALS, a->allocations, b->allocations, "allocation");
    line_bytes(d, out, s, "live", UNKNOWN_LIVE,
               (const uint64_t[]){(uint64_t)a->live_bytes, (uint64_t)b->live_bytes});
    add_counts(d, out, UNKNOWN_LIVE, a->live_blocks, b->live_blocks, "block");
    line_bytes(d, out, s, "peak", UNKNOWN_PEAK, (const uint64_t[]){a->peak_bytes, b->peak_bytes});
    strbuf_putc(out, '\n');
}

static void line_result(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const size_t *n = d->count;
    summary_label(out, s, "result");
    if (diff_is_empty(d))
        strbuf_puts(out, "no difference\n");
    else if (!n[DIFF_CHANGED] && !n[DIFF_NEW] && !n[DIFF_GONE])
        strbuf_printf(out, "no difference in %s by %s\n", report_metric_title(d->query->metric),
                      grouping_name(d->query->by));
    else
        say(out, "%N row(s) changed, %d new, %d gone, %d the same\n", n[DIFF_CHANGED], n[DIFF_NEW],
            n[DIFF_GONE], n[DIFF_SAME]);
}

static void add_both(const struct diff *d, struct strbuf *out, struct value a, struct value b)
{
    const enum metric metric = d->query->metric;
    const struct value v[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        say(out, "%r%r ", i ? ", " : "", letters[i]);
        unit_amount(out, metric, v[i].amount);
        if (!known_counts(d->side[i].profile, metric))
            continue;
        strbuf_puts(out, " in ");
        unit_counted(out, v[i].count, report_count_word(metric));
    }
}

static void line_left_out(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &d->side[0].answer, *b = &d->side[1].answer;
    const struct stack_filter *f = &d->query->filter;
    bool defaults = !f->no_defaults &&
                    (d->side[0].recording->defaults.count || d->side[1].recording->defaults.count);
    if (f->ignore.patterns.count || f->suppress.rules.count || defaults ||
        !value_is_zero(a->tree.ignored) || !value_is_zero(b->tree.ignored)) {
        summary_label(out, s, "ignored");
        add_both(d, out, a->tree.ignored, b->tree.ignored);
        strbuf_printf(out, ", not in the table%s\n",
                      defaults ? "; some options were given to run, --no-defaults leaves them out"
                               : "");
    }
    if (!value_is_zero(a->tree.outside) || !value_is_zero(b->tree.outside)) {
        summary_label(out, s, "outside");
        add_both(d, out, a->tree.outside, b->tree.outside);
        strbuf_puts(out, " not matching the filters, not in the table\n");
    }
}

static void line_flaws(const struct diff *d, const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    for (int i = 0; i < 2; i++) {
        const struct diff_side *side = &d->side[i];
        const struct totals *t = &side->answer.totals;
        if (side->missing.text[0])
            say(&text, "%r%r counts as nothing: %s", text.size ? "; " : "", letters[i],
                side->missing.text);
        if (!side->recording->complete || !side->profile->complete)
            say(&text, "%r%r is incomplete", text.size ? "; " : "", letters[i]);
        if (t->lost_events || t->truncated_stacks || t->incomplete_stacks)
            say(&text, "%r%r lost %d events and has %d stacks cut off", text.size ? "; " : "",
                letters[i], t->lost_events, t->truncated_stacks + t->incomplete_stacks);
    }
    if (text.size) {
        summary_label(out, s, "missing");
        strbuf_printf(out, "%s%s%s\n", style_warn(s), text.data, style_plain(s));
    }
    strbuf_release(&text);
}

/* A difference between two estimates, or between an estimate and an exact figure, may be chance. */
static void line_sampled(const struct diff *d, const struct style *s, struct strbuf *out)
{
    bool any = false;
    for (int i = 0; i < 2; i++) {
        uint64_t bytes = d->side[i].profile->sample_bytes;
        if (!bytes)
            continue;
        if (!any)
            summary_label(out, s, "sampled");
        say(out, "%r%r one allocation per %B", any ? ", " : "", letters[i], bytes);
        any = true;
    }
    strbuf_puts(out, any ? "; figures are estimates, and small changes may be chance\n" : "");
}

static void add_summary(const struct diff *d, const struct style *s, struct strbuf *out)
{
    for (int i = 0; i < 2; i++) {
        struct strbuf file = {0};
        say(&file, " (%s", d->side[i].file);
        summary_label(out, s, letters[i]);
        size_t used = 12 + unit_columns(file.data);
        summary_command(d->side[i].profile, s->width > used + 24 ? s->width - used : 24, out);
        strbuf_printf(out, "%s)\n", file.data);
        strbuf_release(&file);
    }
    line_ran(d, s, out);
    line_sampled(d, s, out);
    line_window(d, s, out);
    line_totals(d, s, out);
    line_result(d, s, out);
    line_left_out(d, s, out);
    line_flaws(d, s, out);
}

static void add_stacks(const struct diff *d, const struct style *s, struct strbuf *out)
{
    for (size_t i = 0; i < d->rows.count; i++) {
        const struct diff_row *r = &d->rows.items[i];
        if (r->status == DIFF_SAME)
            continue;
        struct value change = value_change(r->self);
        int which = r->there[1];
        const struct answer *a = &d->side[which].answer;
        say(out, "%r%r", i ? "\n" : "", style_bold(s));
        amount_change(out, d, change.amount);
        if (r->status != DIFF_CHANGED)
            say(out, "%r (%r): ", style_plain(s), diff_status_name(r->status));
        else if (r->self[0].amount)
            say(out, "%r (%+P %%): ", style_plain(s),
                (double)change.amount / (double)amount_size(r->self[0].amount) * 100);
        else
            say(out, "%r (- %%): ", style_plain(s));
        unit_amount(out, d->query->metric, r->self[0].amount);
        strbuf_puts(out, " -> ");
        unit_amount(out, d->query->metric, r->self[1].amount);
        if (d->counted)
            say(out, ", %+N %r", change.count, report_count_title(d->query->metric));
        say(out, ", thread %s\n", r->thread && *r->thread ? r->thread : "[unknown]");
        stack_text(&a->frames, &a->merged, r->call[which], STACK_FRAMES, s, out);
    }
}

static void add_left_out(const struct diff *d, struct strbuf *out)
{
    size_t same = 0;
    for (size_t i = 0; i < d->rows.count; i++)
        same += d->rows.items[i].status == DIFF_SAME;
    same = d->count[DIFF_SAME] - same; /* of those left out */
    if (d->left_out <= same)
        return;
    say(out, "... %N more row(s) with ", d->left_out - same);
    amount_change(out, d, d->left_out_change.amount);
    strbuf_puts(out, "; --top 0 --min 0 shows all\n");
}

static void add_next(const struct diff *d, const struct style *s, struct strbuf *out)
{
    bool total = metric_is_known(d->side[0].profile, METRIC_TOTAL) &&
                 metric_is_known(d->side[1].profile, METRIC_TOTAL);
    const char *more = diff_is_empty(d) && total         ? "--metric total"
                       : d->query->by == BY_STACK        ? "--tree"
                       : d->query->metric == METRIC_LIVE ? "--by stack --top 3"
                                                         : NULL;
    strbuf_printf(out, "\n%snext: tidemark diff ", style_faint(s));
    next_file(out, d->side[0].file);
    strbuf_putc(out, ' ');
    next_file(out, d->side[1].file);
    next_option(out, "--process", d->query->process);
    next_filter(out, &d->query->filter);
    if (more)
        say(out, " %r%r\n", more, style_plain(s));
    else
        say(out, " --metric %r --by stack --top 3%r\n", metric_name(d->query->metric),
            style_plain(s));
}

void diff_text(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct query *q = d->query;
    const struct value sums[2] = {d->side[0].answer.tree.sum, d->side[1].answer.tree.sum};
    add_summary(d, s, out);
    strbuf_printf(out, "\n%sb minus a, %s by %s%s: ", style_bold(s), report_metric_title(q->metric),
                  grouping_name(q->by),
                  q->shape == SHAPE_TREE      ? ", as a tree"
                  : q->shape == SHAPE_CALLERS ? ", callers"
                  : q->shape == SHAPE_CALLEES ? ", callees"
                                              : "");
    amount_change(out, d, value_change(sums).amount);
    strbuf_printf(out, "%s\n", style_plain(s));
    if (d->count[DIFF_CHANGED] + d->count[DIFF_NEW] + d->count[DIFF_GONE] == 0)
        strbuf_puts(out, "nothing to show\n");
    else if (q->by == BY_STACK)
        add_stacks(d, s, out);
    else
        diff_table_text(d, s, out);
    add_left_out(d, out);
    diff_marks_text(d, s, out);
    add_next(d, s, out);
}
