/* One run against several at once for people: a summary, then what got worse. */
#include <math.h>
#include <string.h>

#include "answer/compare.h"
#include "base/say.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "answer/table.h"
#include "answer/units.h"

#define STACK_FRAMES 64  /* lines shown of one stack */
#define TICKS_TELL   1e8 /* ns; of less a ratio says nothing */

static int64_t rounded(double v)
{
    return fabs(v) < 9e18 ? (int64_t)llround(v) : 0;
}

/* "12", "1,234", and where a unit of work has few of them "0.25" */
static void add_number(struct strbuf *out, double v)
{
    if (v != 0 && fabs(v) < 10 && fabs(v - round(v)) > 0.004)
        strbuf_printf(out, "%.2f", v);
    else
        unit_count(out, rounded(v));
}

/* A unit of work may be a thousandth of a millisecond. */
static void add_time(struct strbuf *out, double ns)
{
    if (ns != 0 && fabs(ns) < 1e6)
        strbuf_printf(out, "%.1f us", ns / 1e3);
    else
        unit_ms(out, rounded(ns));
}

static void add_amount(struct strbuf *out, enum compare_measure m, double v)
{
    if (m == COMPARE_CPU_NS)
        add_time(out, v);
    else if (m == COMPARE_FAULT_BYTES)
        unit_bytes(out, rounded(v));
    else
        add_number(out, v);
}

static void add_change(struct strbuf *out, enum compare_measure m, double change)
{
    strbuf_puts(out, change > 0 ? "+" : "");
    add_amount(out, m, change);
}

static void add_ratio(struct strbuf *out, double alone, double together)
{
    if (alone > 0)
        strbuf_printf(out, "%.2f", together / alone);
    else
        strbuf_puts(out, together > 0 ? "new" : "-");
}

/* "user time   310.2 ms alone, 402.9 ms together (1.30 times as much)" */
static void line_figure(const struct style *s, const char *label, enum compare_measure m,
                        double alone, double together, struct strbuf *out)
{
    summary_label(out, s, label);
    add_amount(out, m, alone);
    strbuf_puts(out, " alone, ");
    add_amount(out, m, together);
    strbuf_puts(out, " together");
    if (alone > 0)
        strbuf_printf(out, " (%.2f times as much)", together / alone);
    strbuf_putc(out, '\n');
}

/* Per run these are no more exact than the kernel's ticks are; of many marks they are. */
static void line_ticks(const struct compare *c, const struct style *s, const char *label,
                       double alone, double together, struct strbuf *out)
{
    if (c->per) {
        line_figure(s, label, COMPARE_CPU_NS, alone, together, out);
        return;
    }
    summary_label(out, s, label);
    unit_ticks(out, (uint64_t)rounded(alone));
    strbuf_puts(out, " alone, ");
    unit_ticks(out, (uint64_t)rounded(together));
    strbuf_puts(out, " together");
    if (alone >= TICKS_TELL)
        strbuf_printf(out, " (%.1f times as much)", together / alone);
    strbuf_putc(out, '\n');
}

static void line_command(const struct compare *c, const struct compare_frame *f,
                         const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "command");
    for (char *const *a = f->command; *a; a++) {
        strbuf_puts(out, a == f->command ? "" : " ");
        summary_argument(out, *a);
    }
    strbuf_putc(out, '\n');
    summary_label(out, s, "runs");
    strbuf_printf(out, "one alone, then %zu at once; figures are per %s", c->copies,
                  c->per ? "mark '" : "run");
    if (c->per) {
        say(out, "%s', of which there were %N and %N", c->per, c->runs.items[0].units,
            (int64_t)compare_copies(c).units);
    }
    strbuf_putc(out, '\n');
}

static void add_summary(const struct compare *c, const struct compare_frame *f,
                        const struct style *s, struct strbuf *out)
{
    const struct compare_run *a = &c->runs.items[0];
    const struct compare_run b = compare_copies(c);
    double x = (double)a->units, y = (double)b.units;
    line_command(c, f, s, out);
    line_figure(s, "ran", COMPARE_CPU_NS, (double)a->duration_ns / x, (double)b.duration_ns / y,
                out);
    line_ticks(c, s, "user", (double)a->kernel.user_ns / x, (double)b.kernel.user_ns / y, out);
    line_ticks(c, s, "system", (double)a->kernel.system_ns / x, (double)b.kernel.system_ns / y,
               out);
    line_figure(s, "faults", COMPARE_FAULTS,
                (double)(a->kernel.minor_faults + a->kernel.major_faults) / x,
                (double)(b.kernel.minor_faults + b.kernel.major_faults) / y, out);
    if (a->lost || b.lost) {
        summary_label(out, s, "lost");
        say(out, "samples for which there was no room: %N alone, %N together\n", a->lost, b.lost);
    }
    for (int i = 0; i < 2 && f->files; i++) {
        summary_label(out, s, i ? "" : "kept");
        say(out, "%s\n", f->files[i]);
    }
}

static void cell_ratio(struct strbuf *cell, struct compared v)
{
    strbuf_puts(cell, compared_is_certain(v) ? "" : "~");
    add_ratio(cell, v.alone, v.together);
}

/* "1.10 - 1.52"; "1.10 -" has no upper bound */
static void cell_bounds(struct strbuf *cell, struct compared v)
{
    strbuf_printf(cell, "%.2f -", v.ratio_low);
    if (isfinite(v.ratio_high))
        strbuf_printf(cell, " %.2f", v.ratio_high);
}

static void add_spread(struct strbuf *out, enum compare_measure m, struct compared v)
{
    add_amount(out, m, v.low);
    strbuf_puts(out, " - ");
    add_amount(out, m, v.high);
}

static void cell_other(struct strbuf *cell, enum compare_measure m, struct compared v)
{
    strbuf_puts(cell, compared_is_nothing(v) || compared_is_certain(v) ? "" : "~");
    add_change(cell, m, compared_change(v));
}

static void cell_place(struct strbuf *cell, const struct compare_row *r)
{
    const char *slash = r->file ? strrchr(r->file, '/') : NULL;
    if (r->file) {
        unit_text(cell, slash ? slash + 1 : r->file);
        if (r->line)
            strbuf_printf(cell, ":%u", (unsigned)r->line);
    } else if (r->module) {
        unit_text(cell, r->module);
    }
}

static void add_table(const struct compare *c, enum compare_measure m, const struct style *s,
                      struct strbuf *out)
{
    enum grouping by = c->query->by;
    bool place = by == BY_FUNCTION || by == BY_LINE;
    enum compare_measure other = m == COMPARE_CPU_NS ? COMPARE_FAULTS : COMPARE_CPU_NS;
    struct table t;
    table_init(&t);
    table_column(&t, "change", CELL_RIGHT);
    table_column(&t, "ratio", CELL_RIGHT);
    table_column(&t, "bounds", CELL_RIGHT);
    table_column(&t, "alone", CELL_RIGHT);
    table_column(&t, "together", CELL_RIGHT);
    table_column(&t, other == COMPARE_FAULTS ? "faults" : "CPU time", CELL_RIGHT);
    table_column(&t, grouping_name(by),
                 by == BY_FILE     ? CELL_PATH
                 : by == BY_THREAD ? CELL_TITLE
                                   : CELL_NAME);
    if (place)
        table_column(&t, "where", CELL_PATH);
    for (size_t i = 0; i < c->rows.count; i++) {
        const struct compare_row *r = &c->rows.items[i];
        if (compared_is_nothing(r->self[m]))
            continue;
        add_change(table_cell(&t), m, compared_change(r->self[m]));
        cell_ratio(table_cell(&t), r->self[m]);
        cell_bounds(table_cell(&t), r->self[m]);
        add_amount(table_cell(&t), m, r->self[m].alone);
        add_amount(table_cell(&t), m, r->self[m].together);
        cell_other(table_cell(&t), other, r->self[other]);
        unit_text(table_cell(&t), r->name);
        if (place)
            cell_place(table_cell(&t), r);
    }
    table_print(&t, s, out);
    table_release(&t);
}

static void add_stacks(const struct compare *c, enum compare_measure m, const struct style *s,
                       struct strbuf *out)
{
    for (size_t i = 0; i < c->rows.count; i++) {
        const struct compare_row *r = &c->rows.items[i];
        const struct answer *a = &c->answers.items[r->answer]->answer;
        if (compared_is_nothing(r->self[m]))
            continue;
        say(out, "%r%r", i ? "\n" : "", style_bold(s));
        add_change(out, m, compared_change(r->self[m]));
        strbuf_printf(out, "%s (", style_plain(s));
        cell_ratio(out, r->self[m]);
        strbuf_puts(out, ", bounds ");
        cell_bounds(out, r->self[m]);
        strbuf_puts(out, "): ");
        add_amount(out, m, r->self[m].alone);
        strbuf_puts(out, " alone, ");
        add_amount(out, m, r->self[m].together);
        strbuf_puts(out, " together (");
        add_spread(out, m, r->self[m]);
        say(out, "), thread %s\n", r->thread && *r->thread ? r->thread : "[unknown]");
        stack_text(&a->frames, &a->merged, r->call, STACK_FRAMES, s, out);
    }
}

void compare_text(const struct compare *c, const struct compare_frame *f, const struct style *s,
                  struct strbuf *out)
{
    bool faults = c->query->metric == METRIC_FAULTS, any = false;
    enum compare_measure m = faults ? COMPARE_FAULTS : COMPARE_CPU_NS;
    add_summary(c, f, s, out);
    strbuf_printf(out, "\n%s%s by %s, what got worse first%s\n", style_bold(s),
                  faults ? "page faults" : "CPU time in user mode", grouping_name(c->query->by),
                  style_plain(s));
    if (!c->rows.count)
        strbuf_puts(out, "nothing to show\n");
    else if (c->query->by == BY_STACK)
        add_stacks(c, m, s, out);
    else
        add_table(c, m, s, out);
    for (size_t i = 0; i < c->rows.count; i++)
        any |= !compared_is_nothing(c->rows.items[i].self[m]) &&
               !compared_is_certain(c->rows.items[i].self[m]);
    if (c->left_out) {
        say(out, "... %N more rows; --top 0 --min 0 shows all\n", c->left_out);
    }
    if (any)
        strbuf_printf(out,
                      "~ may be chance: with so few %s the ratio may be anything within its "
                      "bounds; run longer\n",
                      faults ? "faults" : "samples");
}
