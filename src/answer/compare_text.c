/* One run compared with several at once, as text: a summary, then what got worse. */
#include <math.h>

#include "base/say.h"
#include "answer/compare.h"
#include "answer/stack_text.h"
#include "answer/summary.h"
#include "base/units.h"

#define STACK_FRAMES 64  /* lines shown of one stack */
#define TICKS_TELL   1e8 /* ns; below this a ratio says nothing */

/* "user time   310.2 ms alone, 402.9 ms together (1.30 times as much)" */
static void line_figure(const struct style *s, const char *label, enum compare_measure m,
                        double alone, double together, struct strbuf *out)
{
    summary_label(out, s, label);
    compare_amount(out, m, alone);
    strbuf_puts(out, " alone, ");
    compare_amount(out, m, together);
    strbuf_puts(out, " together");
    if (alone > 0)
        say(out, " (%.2f times as much)", together / alone);
    strbuf_putc(out, '\n');
}

/* For a single run these are only as exact as the kernel's ticks; over many marks they are
 * better. */
static void line_ticks(const struct compare *c, const struct style *s, const char *label,
                       double alone, double together, struct strbuf *out)
{
    if (c->per) {
        line_figure(s, label, COMPARE_CPU_NS, alone, together, out);
        return;
    }
    summary_label(out, s, label);
    unit_ticks(out, (uint64_t)llround(alone));
    strbuf_puts(out, " alone, ");
    unit_ticks(out, (uint64_t)llround(together));
    strbuf_puts(out, " together");
    if (alone >= TICKS_TELL)
        say(out, " (%.1f times as much)", together / alone);
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
    if (c->per)
        say(out,
            "one alone, then %d at once; figures are per mark '%s', of which there were %N and "
            "%N\n",
            c->copies, c->per, c->runs.items[0].units, compare_copies(c).units);
    else
        say(out, "one alone, then %d at once; figures are per run\n", c->copies);
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
        say(out, "samples lost for lack of room: %N alone, %N together\n", a->lost, b.lost);
    }
    for (int i = 0; i < 2 && f->files; i++) {
        summary_label(out, s, i ? "" : "kept");
        say(out, "%s\n", f->files[i]);
    }
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
        compare_change(out, m, r->self[m]);
        say(out, "%r (", style_plain(s));
        compare_ratio(out, r->self[m]);
        strbuf_puts(out, ", bounds ");
        compare_bounds(out, r->self[m]);
        strbuf_puts(out, "): ");
        compare_amount(out, m, r->self[m].alone);
        strbuf_puts(out, " alone, ");
        compare_amount(out, m, r->self[m].together);
        strbuf_puts(out, " together (");
        compare_amount(out, m, r->self[m].low);
        strbuf_puts(out, " - ");
        compare_amount(out, m, r->self[m].high);
        say(out, "), thread %s\n", r->thread && *r->thread ? r->thread : "[unknown]");
        stack_text(&a->frames, &a->merged, r->call, STACK_FRAMES, s, out);
    }
}

void compare_text(const struct compare *c, const struct compare_frame *f, const struct style *s,
                  struct strbuf *out)
{
    enum compare_measure m = compare_measure_of(c);
    bool faults = m == COMPARE_FAULTS, any = false;
    add_summary(c, f, s, out);
    strbuf_printf(out, "\n%s%s by %s, what got worse first%s\n", style_bold(s),
                  faults ? "page faults" : "CPU time", grouping_name(c->query->by), style_plain(s));
    if (!c->rows.count)
        strbuf_puts(out, "nothing to show\n");
    else if (c->query->by == BY_STACK)
        add_stacks(c, m, s, out);
    else
        compare_table_text(c, s, out);
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
