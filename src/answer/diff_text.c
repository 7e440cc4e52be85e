/* The difference of two recordings for people: a summary, then what changed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/diff.h"
#include "base/say.h"
#include "answer/indent.h"
#include "answer/next.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "answer/table.h"
#include "answer/units.h"

#define STACK_FRAMES 64 /* lines shown of one stack */

static const char letters[] = {'a', 'b'};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void amount_change(struct strbuf *out, const struct diff *d, int64_t change)
{
    strbuf_puts(out, change > 0 ? "+" : "");
    unit_amount(out, d->query->metric, change);
}

static void count_change(struct strbuf *out, int64_t change)
{
    say(out, "%r%N", change > 0 ? "+" : "", change);
}

static void percent_change(struct strbuf *out, int64_t change, int64_t from)
{
    strbuf_puts(out, change > 0 ? "+" : "");
    unit_percent(out, (double)change, (double)amount_size(from));
    strbuf_puts(out, " %");
}

/* "1.0 KiB -> 2.0 KiB (+1.0 KiB, +100.0 %)" */
static void add_bytes(struct strbuf *out, uint64_t a, uint64_t b)
{
    int64_t change = (int64_t)(b - a);
    say(out, "%B -> %B", a, b);
    if (!change) {
        strbuf_puts(out, " (no change)");
        return;
    }
    say(out, " (%r%B", change > 0 ? "+" : "", change);
    if (a) {
        strbuf_puts(out, ", ");
        percent_change(out, change, (int64_t)a);
    }
    strbuf_putc(out, ')');
}

/* " in 3 -> 5 blocks (+2)" */
static void add_counts(struct strbuf *out, int64_t a, int64_t b, const char *what)
{
    struct value v[2] = {{.count = a}, {.count = b}};
    say(out, " in %N", a);
    if (a != b) {
        say(out, " -> %N", b);
    }
    strbuf_printf(out, " %s", what);
    if (a != b) {
        strbuf_puts(out, " (");
        count_change(out, value_change(v).count);
        strbuf_putc(out, ')');
    }
    strbuf_putc(out, '\n');
}

static void line_ran(const struct diff *d, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "ran");
    for (int i = 0; i < 2; i++) {
        strbuf_printf(out, "%s%c ", i ? "; " : "", letters[i]);
        say(out, "%T, ", d->side[i].profile->duration_ns);
        summary_ending(d->side[i].profile, out);
        if (d->side[i].profile->together > 1)
            strbuf_printf(out, ", %" PRIu32 " processes", d->side[i].profile->together);
        else if (d->side[i].recording->profiles.count > 1)
            strbuf_printf(out, ", pid %" PRIu32 " of %zu processes", d->side[i].profile->pid,
                          d->side[i].recording->profiles.count);
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
        strbuf_printf(out, "; %c ", letters[i]);
        say(out, "%T to %T", w->since.time_ns, w->at.time_ns);
    }
    strbuf_putc(out, '\n');
}

static void line_totals(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct totals *a = &d->side[0].answer.totals, *b = &d->side[1].answer.totals;
    if (d->side[0].profile->sampling.alone || d->side[1].profile->sampling.alone)
        return; /* of the heap nothing is known */
    summary_label(out, s, "allocated");
    add_bytes(out, (uint64_t)a->bytes_allocated, (uint64_t)b->bytes_allocated);
    add_counts(out, a->allocations, b->allocations, "allocations");
    summary_label(out, s, "live");
    add_bytes(out, (uint64_t)a->live_bytes, (uint64_t)b->live_bytes);
    add_counts(out, a->live_blocks, b->live_blocks, "blocks");
    summary_label(out, s, "peak");
    add_bytes(out, a->peak_bytes, b->peak_bytes);
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
    else {
        say(out, "%N row(s) changed, %d new, %d gone, %d the same\n", n[DIFF_CHANGED], n[DIFF_NEW],
            n[DIFF_GONE], n[DIFF_SAME]);
    }
}

static void add_both(struct strbuf *out, enum metric metric, struct value a, struct value b)
{
    const struct value v[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        strbuf_printf(out, "%s%c ", i ? ", " : "", letters[i]);
        unit_amount(out, metric, v[i].amount);
        strbuf_puts(out, " in ");
        unit_counted(out, v[i].count, report_count_word(metric));
    }
}

static void line_left_out(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct answer *a = &d->side[0].answer, *b = &d->side[1].answer;
    const struct focus *f = &d->query->focus;
    bool defaults = !f->no_defaults &&
                    (d->side[0].recording->defaults.count || d->side[1].recording->defaults.count);
    if (f->ignore.patterns.count || f->suppress.rules.count || defaults ||
        !value_is_zero(a->tree.ignored) || !value_is_zero(b->tree.ignored)) {
        summary_label(out, s, "ignored");
        add_both(out, d->query->metric, a->tree.ignored, b->tree.ignored);
        strbuf_printf(out, ", not in the table%s\n",
                      defaults ? "; some options were given to run, --no-defaults leaves them out"
                               : "");
    }
    if (!value_is_zero(a->tree.outside) || !value_is_zero(b->tree.outside)) {
        summary_label(out, s, "outside");
        add_both(out, d->query->metric, a->tree.outside, b->tree.outside);
        strbuf_puts(out, " not matching the filters, not in the table\n");
    }
}

static void line_flaws(const struct diff *d, const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    for (int i = 0; i < 2; i++) {
        const struct diff_side *side = &d->side[i];
        const struct totals *t = &side->answer.totals;
        if (side->missing.text[0]) {
            strbuf_printf(&text, "%s%c counts as nothing: ", text.size ? "; " : "", letters[i]);
            unit_text(&text, side->missing.text);
        }
        if (!side->recording->complete || !side->profile->complete)
            strbuf_printf(&text, "%s%c is incomplete", text.size ? "; " : "", letters[i]);
        if (t->lost_events || t->truncated_stacks || t->incomplete_stacks)
            strbuf_printf(&text, "%s%c lost %" PRIu64 " events and has %" PRIu64 " stacks cut off",
                          text.size ? "; " : "", letters[i], t->lost_events,
                          t->truncated_stacks + t->incomplete_stacks);
    }
    if (text.size) {
        summary_label(out, s, "missing");
        strbuf_printf(out, "%s%s%s\n", style_warn(s), text.data, style_plain(s));
    }
    strbuf_release(&text);
}

static void add_summary(const struct diff *d, const struct style *s, struct strbuf *out)
{
    for (int i = 0; i < 2; i++) {
        const char name[2] = {letters[i], '\0'};
        struct strbuf file = {0};
        say(&file, " (%s", d->side[i].file);
        summary_label(out, s, name);
        size_t used = 12 + unit_columns(file.data);
        summary_command(d->side[i].profile, s->width > used + 24 ? s->width - used : 24, out);
        strbuf_printf(out, "%s)\n", file.data);
        strbuf_release(&file);
    }
    line_ran(d, s, out);
    line_window(d, s, out);
    line_totals(d, s, out);
    line_result(d, s, out);
    line_left_out(d, s, out);
    line_flaws(d, s, out);
}

static void cell_percent(struct strbuf *cell, const struct diff_row *r, const struct value v[2])
{
    int64_t change = value_change(v).amount;
    if (r->status == DIFF_NEW || r->status == DIFF_GONE) {
        strbuf_puts(cell, diff_status_name(r->status));
    } else if (!v[0].amount) {
        strbuf_putc(cell, '-');
    } else {
        strbuf_puts(cell, change > 0 ? "+" : "");
        unit_percent(cell, (double)change, (double)amount_size(v[0].amount));
    }
}

static void cell_place(struct strbuf *cell, const struct diff_row *r)
{
    if (r->file) {
        unit_text(cell, base_name(r->file));
        if (r->line)
            strbuf_printf(cell, ":%u", (unsigned)r->line);
    } else if (r->module) {
        unit_text(cell, r->module);
    }
}

static void add_table(const struct diff *d, const struct style *s, struct strbuf *out)
{
    const struct query *q = d->query;
    bool tree = q->shape == SHAPE_TREE, by_total = q->by != BY_THREAD && !tree;
    bool place = q->by == BY_FUNCTION || q->by == BY_LINE;
    struct table t;
    table_init(&t);
    table_column(&t, "change", CELL_RIGHT);
    table_column(&t, "%", CELL_RIGHT);
    table_column(&t, "a", CELL_RIGHT);
    table_column(&t, "b", CELL_RIGHT);
    table_column(&t, report_count_title(q->metric), CELL_RIGHT);
    if (by_total)
        table_column(&t, "in all", CELL_RIGHT);
    uint32_t *indent = xcalloc(d->rows.count + 1, sizeof *indent);
    for (size_t i = 0; tree && i < d->rows.count; i++)
        indent[i] = d->rows.items[i].depth;
    bool deep = tree && indent_tree(indent, d->rows.count);
    if (deep)
        table_column(&t, "depth", CELL_RIGHT);
    table_column(&t, tree ? "call tree" : grouping_name(q->by),
                 q->by == BY_FILE     ? CELL_PATH
                 : q->by == BY_THREAD ? CELL_TITLE
                                      : CELL_NAME);
    if (place)
        table_column(&t, "where", CELL_PATH);
    for (size_t i = 0; i < d->rows.count; i++) {
        const struct diff_row *r = &d->rows.items[i];
        const struct value *v = tree ? r->total : r->self;
        struct value change = value_change(v);
        if (r->status == DIFF_SAME && !tree)
            continue;
        amount_change(table_cell(&t), d, change.amount);
        cell_percent(table_cell(&t), r, v);
        unit_amount(table_cell(&t), d->query->metric, v[0].amount);
        unit_amount(table_cell(&t), d->query->metric, v[1].amount);
        count_change(table_cell(&t), change.count);
        if (by_total)
            amount_change(table_cell(&t), d, value_change(r->total).amount);
        if (deep)
            unit_count(table_cell(&t), (int64_t)r->depth);
        struct strbuf *name = table_cell(&t);
        strbuf_printf(name, "%*s", (int)indent[i], "");
        unit_text(name, r->name);
        if (place)
            cell_place(table_cell(&t), r);
    }
    table_print(&t, s, out);
    table_release(&t);
    free(indent);
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
        strbuf_printf(out, "%s (", style_plain(s));
        cell_percent(out, r, r->self);
        strbuf_puts(out, r->status == DIFF_CHANGED ? " %): " : "): ");
        unit_amount(out, d->query->metric, r->self[0].amount);
        strbuf_puts(out, " -> ");
        unit_amount(out, d->query->metric, r->self[1].amount);
        strbuf_puts(out, ", ");
        count_change(out, change.count);
        say(out, " %r, thread %s\n", report_count_title(d->query->metric),
            r->thread && *r->thread ? r->thread : "[unknown]");
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
    const char *more = diff_is_empty(d)                  ? "--metric total"
                       : d->query->by == BY_STACK        ? "--tree"
                       : d->query->metric == METRIC_LIVE ? "--by stack --top 3"
                                                         : NULL;
    strbuf_printf(out, "\n%snext: tidemark diff ", style_faint(s));
    next_word(out, d->side[0].file);
    strbuf_putc(out, ' ');
    next_word(out, d->side[1].file);
    unit_process(out, d->query->process);
    next_focus(out, &d->query->focus);
    if (more)
        strbuf_printf(out, " %s", more);
    else
        strbuf_printf(out, " --metric %s --by stack --top 3", metric_name(d->query->metric));
    strbuf_printf(out, "%s\n", style_plain(s));
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
        add_table(d, s, out);
    add_left_out(d, out);
    diff_marks_text(d, s, out);
    add_next(d, s, out);
}
