#include "answer/summary.h"

#include <string.h>

#include "base/say.h"
#include "analyse/work_end.h"
#include "model/arenas_at.h"
#include "model/estimate.h"
#include "model/not_recorded.h"
#include "model/pool_totals.h"
#include "model/sample_sums.h"
#include "answer/imported.h"
#include "answer/merge.h"
#include "answer/report.h"
#include "answer/metric_unit.h"
#include "answer/wrap.h"

#define NOT_KNOWN   "not known"
#define POOLS_SHOWN 3
#define FREED_LEAST ((int64_t)1 << 20) /* what Python must free at its end to be worth a line, */
#define FREED_TIMES 3                  /* if live memory was so many times what is left */

void summary_label(struct strbuf *out, const struct style *s, const char *text)
{
    strbuf_printf(out, "%s%-*s%s", style_bold(s), SUMMARY_LABEL, text, style_plain(s));
}

size_t summary_begin(struct strbuf *out, const struct style *s, const char *label)
{
    size_t start = out->size;
    summary_label(out, s, label);
    return start;
}

void summary_end(struct strbuf *out, const struct style *s, size_t start)
{
    wrap_since(out, start, SUMMARY_LABEL, s->width);
    strbuf_putc(out, '\n');
}

void summary_moment(struct strbuf *out, const struct moment *m)
{
    unit_text(out, m->word);
    if (strcmp(m->word, "start") != 0)
        say(out, " (%T)", m->time_ns);
}

/* A merged recording has no times, because each input has its own. An imported one may have
 * none. */
static void window_moment(struct strbuf *out, const struct profile *p, const struct moment *m)
{
    bool peak = strcmp(m->word, "peak") == 0;
    if (p->merge || profile_lacks(p, peak ? UNKNOWN_TIME | UNKNOWN_PEAK_TIME : UNKNOWN_TIME))
        unit_text(out, m->word);
    else
        summary_moment(out, m);
}

/* Which figures are of the window. */
static const char *window_extent(const struct answer *a)
{
    const struct window *w = &a->window;
    bool merge = a->profile->merge != NULL;
    if (!w->since.peak && !w->at.peak)
        return "; all figures are of this window\n";
    if (w->since.own_peak || w->at.own_peak)
        return merge ? "; table: each run at its own peak; heap: the whole runs\n"
                     : "; the table is exact, the heap is as at its interval's end\n";
    return merge ? "; live: each run at its own peak; calls: the whole runs\n"
                 : "; live is exact, calls include the peak's whole interval\n";
}

static void line_window(const struct answer *a, const struct style *s, struct strbuf *out)
{
    if (window_is_whole(a->profile, &a->window))
        return;
    summary_label(out, s, "window");
    strbuf_puts(out, "from ");
    window_moment(out, a->profile, &a->window.since);
    strbuf_puts(out, " to ");
    window_moment(out, a->profile, &a->window.at);
    strbuf_puts(out, window_extent(a));
}

static void add_interval(const struct profile *p, int64_t bytes, struct strbuf *out)
{
    struct estimate e = estimate_of(p, bytes);
    say(out, " (%B to %B)", e.low, e.high);
}

/* The 95 % interval of an estimate. */
static void within(const struct answer *a, enum metric m, int64_t bytes, struct strbuf *out)
{
    if (estimate_known(a->profile, m, SIZE_REQUESTED, &a->window))
        add_interval(a->profile, bytes, out);
}

/* Appends a label, and bytes or that they are not known. */
static void begin_bytes(struct strbuf *out, const struct style *s, const char *label, bool known,
                        int64_t bytes)
{
    summary_label(out, s, label);
    if (known)
        say(out, "%B", bytes);
    else
        strbuf_puts(out, NOT_KNOWN);
}

static void line_counts(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct totals *t = &a->totals;
    bool change = a->window.since.intervals || a->window.since.peak;
    bool counts = !(t->unknown & UNKNOWN_COUNTS);
    begin_bytes(out, s, "allocated", !(t->unknown & UNKNOWN_TOTALS), (int64_t)t->bytes_allocated);
    within(a, METRIC_TOTAL, (int64_t)t->bytes_allocated, out);
    if (!(t->unknown & UNKNOWN_TOTALS) && counts)
        say(out, " in %N allocation(s)", t->allocations);
    if (!(t->unknown & UNKNOWN_REALLOCATIONS))
        say(out, " (%N by realloc)", t->reallocations);
    if (!(t->unknown & (UNKNOWN_TOTALS | UNKNOWN_LIVE)) && counts)
        say(out, ", %N freed", t->frees);
    strbuf_putc(out, '\n');
    begin_bytes(out, s, "live", !(t->unknown & UNKNOWN_LIVE), t->live_bytes);
    within(a, METRIC_LIVE, t->live_bytes, out);
    if (!(t->unknown & UNKNOWN_LIVE) && counts)
        say(out, " in %N block(s)", t->live_blocks);
    if (!(t->unknown & UNKNOWN_LIVE))
        say(out, "%r%s", change ? ", the change since " : " at ",
            change ? a->window.since.word : a->window.at.word);
    strbuf_putc(out, '\n');
    begin_bytes(out, s, "peak", !(t->unknown & UNKNOWN_PEAK), (int64_t)t->peak_bytes);
    if (a->profile->sample_bytes && !(t->unknown & UNKNOWN_PEAK))
        add_interval(a->profile, (int64_t)t->peak_bytes, out);
    if (a->profile->merge)
        strbuf_puts(out, ", the sum of the peaks of all");
    else if (!(t->unknown & (UNKNOWN_PEAK | UNKNOWN_PEAK_TIME | UNKNOWN_TIME)))
        say(out, " at %T", t->peak_time_ns);
    if (a->profile->together > 1 && !a->profile->merge)
        strbuf_puts(out, ", of processes that ran at the same time");
    if (a->profile->peak_skew_bytes)
        say(out, ", may be off by up to %B: several threads ran at once",
            a->profile->peak_skew_bytes);
    strbuf_putc(out, '\n');
}

static void line_temporary(const struct totals *t, const struct style *s, struct strbuf *out)
{
    summary_label(out, s, "temporary");
    if (t->unknown & UNKNOWN_TEMPORARY) {
        strbuf_puts(out, NOT_KNOWN "\n");
        return;
    }
    unit_percent(out, (double)t->temporary_allocations, (double)t->allocations);
    say(out, " %% of allocations (%N) were freed before the next one\n", t->temporary_allocations);
}

static void line_untouched(const struct profile *p, const struct style *s, struct strbuf *out)
{
    struct untouched u = untouched_of(p);
    size_t start = summary_begin(out, s, "untouched");
    if (u.scan)
        say(out, "%B of what was live at %T", u.live.amount, u.scan->time_ns);
    else
        strbuf_puts(out, "not known of what was live");
    if (u.freed_examined.count)
        say(out, "; %B of %B in %N large block(s) when %r freed", u.freed.amount,
            u.freed_examined.amount, u.freed_examined.count,
            u.freed_examined.count == 1 ? "it was" : "they were");
    summary_end(out, s, start);
}

static void line_cpu(const struct profile *p, const struct sampled_totals *t, const struct style *s,
                     struct strbuf *out)
{
    const struct sampling *g = &p->sampling;
    summary_label(out, s, "cpu");
    if (p->imported.from) { /* user or kernel mode is not known */
        if (!profile_lacks(p, UNKNOWN_CPU_TIME))
            say(out, "%M, ", t->cpu_ns);
        say(out, "%N sample(s)\n", t->cpu_samples);
        return;
    }
    say(out, "%M%r", t->cpu_ns, g->kernel || g->timer ? ", " : " in user mode, ");
    if (g->kernel)
        say(out, "%M of it in the kernel, ", t->kernel_ns);
    say(out, "%N sample(s), one per %T of a thread%r\n", t->cpu_samples, g->cpu_period_ns,
        g->timer ? ", by timers in the program" : "");
    if (g->wall) {
        summary_label(out, s, "off");
        say(out, "%M waiting, %N time(s); %M ready to run while others had the processor\n",
            t->waiting_ns, t->waits, t->ready_ns);
    }
    if (!g->counted)
        return;
    size_t start = summary_begin(out, s, "kernel");
    strbuf_puts(out, "whole run: ");
    unit_ticks(out, g->user_ns);
    strbuf_puts(out, " in user mode, ");
    unit_ticks(out, g->system_ns);
    static const char *const how[] = {[KERNEL_COUNTED] = "not sampled",
                                      [KERNEL_SAMPLED] = "charged to its caller",
                                      [KERNEL_ESTIMATED] = "charged by an estimate"};
    strbuf_printf(out, " in the kernel, %s", g->timer ? "charged to its caller" : how[g->kernel]);
    summary_end(out, s, start);
}

static void part(struct strbuf *out, uint64_t count, const char *word, const char *rest)
{
    if (!count)
        return;
    strbuf_puts(out, ", ");
    unit_counted(out, (int64_t)count, word);
    strbuf_puts(out, rest);
}

static void line_faults(const struct sampling *g, const struct sampled_totals *t,
                        const struct style *s, struct strbuf *out)
{
    uint64_t touches = t->faults - t->huge_faults - t->file_faults - t->copy_faults;
    summary_label(out, s, "faults");
    say(out, "%B made resident: %N%r", t->fault_bytes, touches,
        touches == 1 ? " first touch" : " first touches");
    part(out, t->huge_faults, "huge page", "");
    part(out, t->file_faults, "page", " of files");
    part(out, t->copy_faults, "copied page", " after a fork");
    if (g->fault_period > 1)
        say(out, "; one in %N was recorded", g->fault_period);
    strbuf_putc(out, '\n');
    if (!g->counted)
        return;
    uint64_t all = g->minor_faults + g->major_faults;
    summary_label(out, s, "coverage");
    say(out, "%N of %N faults the kernel counted (", t->faults, all);
    unit_percent(out, (double)t->faults, (double)all);
    strbuf_puts(out, " %), without those in system calls\n");
}

static void line_samples(const struct answer *a, const struct sampled_totals *t,
                         const struct style *s, struct strbuf *out)
{
    const struct sampling *g = &a->profile->sampling;
    bool cpu = metric_is_time(a->query->metric) || a->query->metric == METRIC_SAMPLES;
    if (cpu)
        line_cpu(a->profile, t, s, out);
    else
        line_faults(g, t, s, out);
    if (cpu || g->alone)
        return;
    summary_label(out, s, "touched");
    say(out, "%B of it, by %N fault(s), in blocks and mappings that are known: --metric touched\n",
        t->touched_bytes, t->touched);
}

static void line_inherited(const struct profile *p, const struct style *s, struct strbuf *out)
{
    const struct inherited *i = &p->inherited;
    if (!i->parent)
        return;
    summary_line(out, s, "inherited",
                 "%B in %N block(s) from process %d when it forked, %N of them freed here; not in "
                 "the figures above",
                 i->bytes, i->blocks, i->parent, i->freed_blocks);
}

const char *summary_before_unknown(const struct attached_before *a)
{
    static const char *const why[] = {
        [BEFORE_NOT_ASKED] = "what was allocated before the attach was not counted",
        [BEFORE_OTHER] = "what was allocated before the attach is not known: only glibc's malloc "
                         "can be counted",
        [BEFORE_TOO_LARGE] = "what was allocated before the attach is not known: to count it "
                             "would have stopped the program for long",
        [BEFORE_STRANGE] = "what was allocated before the attach is not known: the heap is not as "
                           "expected of glibc"};
    return a->before == BEFORE_KNOWN ? NULL : why[a->before];
}

static void older_reach(const struct older_reach *r, struct strbuf *out)
{
    if (!r->known)
        strbuf_puts(out, "their types and whether something points to them are not known");
    else if (r->lost_blocks)
        say(out,
            "in the end nothing pointed to %N of the %N block(s) that were left (%B); their types "
            "are not known",
            r->lost_blocks, r->blocks, r->lost_bytes);
    else
        say(out,
            "in the end something pointed to each of the %N block(s) that were left; their types "
            "are not known",
            r->blocks);
}

void summary_attached(const struct profile *p, const struct style *s, struct strbuf *out)
{
    const struct attached_before *a = &p->attached;
    if (!a->is)
        return;
    size_t start = summary_begin(out, s, "before");
    if (a->before == BEFORE_KNOWN)
        say(out, "%B in %N block(s) were in use before the attach", a->before_bytes,
            a->before_blocks);
    else
        strbuf_puts(out, summary_before_unknown(a));
    say(out, "; %N free(s) of such blocks since; ", a->frees);
    older_reach(&a->reach, out);
    strbuf_puts(out, "; not in the figures above");
    summary_end(out, s, start);
}

void summary_mapped(const struct mapped_by *m, struct strbuf *out)
{
    say(out,
        "%B by %s itself, of %B resident at %T, outside the heap; the blocks inside are not "
        "recorded",
        m->bytes, m->module, m->rss_bytes, m->time_ns);
}

static void line_mapped(const struct answer *a, const struct style *s, struct strbuf *out)
{
    struct mapped_by m = mapped_by(a->profile);
    if (!m.module || a->query->metric == METRIC_MAPPED)
        return;
    size_t start = summary_begin(out, s, "mapped");
    summary_mapped(&m, out);
    strbuf_puts(out, ": --metric mapped");
    summary_end(out, s, start);
}

static void line_pools(const struct answer *a, const struct style *s, struct strbuf *out)
{
    struct pool_totals t;
    pool_totals_init(&t, a->recording, a->profile, &a->window);
    if (t.pools.count) {
        summary_label(out, s, "pools");
        say(out, "%B in %N block(s), not added to live:", t.live.amount, t.live.count);
    }
    for (size_t i = 0; i < t.pools.count && i < POOLS_SHOWN; i++) {
        char *name = xstrndup(t.pools.items[i].name, t.pools.items[i].name_size);
        say(out, "%r%s %B in %N", i ? ", " : " ", name, t.pools.items[i].live.amount,
            t.pools.items[i].live.count);
        free(name);
    }
    if (t.pools.count > POOLS_SHOWN)
        strbuf_printf(out, " and %zu more", t.pools.count - POOLS_SHOWN);
    strbuf_puts(out, t.pools.count ? "\n" : "");
    pool_totals_release(&t);
}

static void lines_gpu(const struct profile *p, const struct style *s, struct strbuf *out)
{
    static const struct {
        const char *label;
        enum metric metric;
    } views[GPU_VIEWS] = {
        [GPU_DRIVER] = {"gpu", METRIC_GPU}, [GPU_TENSORS] = {"tensors", METRIC_TENSOR}};
    for (int view = 0; view < GPU_VIEWS; view++) {
        const struct gpu_figures *g = &p->gpu[view];
        if (!g->peak_bytes)
            continue;
        summary_label(out, s, views[view].label);
        say(out, "%B in %N block(s) at %r", g->peak_bytes, g->peak_blocks,
            p->merge ? "the peaks of all" : "the peak");
        if (g->peak_ns && !p->merge)
            say(out, " (%T)", g->peak_ns);
        say(out, ": --metric %s --at peak\n", metric_name(views[view].metric));
    }
}

/* Samples are taken from outside, where only the interpreter's own stack can be seen. */
static void line_no_python(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct frame_table *t = &a->frames;
    bool found = false, python = false;
    for (size_t i = 0; i < t->frames.count; i++) {
        found |= t->frames.items[i].interpreter;
        python |= t->frames.items[i].kind == FRAME_PYTHON; /* with -X perf */
    }
    /* METRIC_TOUCHED has stacks of the heap. */
    if (!found || python || a->query->metric == METRIC_TOUCHED)
        return;
    summary_label(out, s, "python");
    strbuf_puts(out,
                "samples show the interpreter's C functions; heap stacks show Python frames too\n");
}

static void line_python(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct arena_reading *reading = arenas_at(a->profile, a->window.at.time_ns);
    if (!reading && !a->profile->python_objects)
        return;
    summary_label(out, s, "python");
    if (a->profile->python_objects)
        strbuf_puts(out, reading ? "every object is recorded; " : "every object is recorded\n");
    if (!reading)
        return;
    say(out, "arenas: %B held, %B in objects (", reading->bytes, reading->object_bytes);
    unit_percent(out, (double)reading->object_bytes, (double)reading->bytes);
    say(out, " %% full), at %T\n", reading->time_ns);
}

int64_t summary_python_freed(const struct answer *a)
{
    const struct query *q = a->query;
    struct window until = {.at = {.intervals = work_end_of(a->profile).python}};
    if (q->metric != METRIC_LIVE || q->since || q->at || !until.at.intervals)
        return 0;
    int64_t then = totals_of(a->profile, &until).live_bytes, left = a->totals.live_bytes;
    int64_t freed = wrapped_less(then, left);
    return freed >= FREED_LEAST && then / FREED_TIMES >= left ? freed : 0;
}

static void line_python_freed(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct profile *p = a->profile;
    int64_t freed = summary_python_freed(a);
    if (!freed)
        return;
    summary_label(out, s, "python");
    say(out, "freed %B when it ended; ", freed);
    if (freed > (int64_t)(p->peak_bytes / 2))
        strbuf_puts(out, "--metric peak");
    else /* others were higher */
        strbuf_printf(out, "--at %.6fs",
                      (double)p->intervals.items[p->python_end - 1].end_ns / 1e9);
    strbuf_puts(out, " shows who held it\n");
}

/* What is missing in the figures of a metric: samples have losses of their own. */
static struct totals flaws_of(const struct answer *a, const struct sampled_totals *sampled)
{
    if (!metric_is_sampled(a->query->metric))
        return a->totals;
    return (struct totals){.lost_events = a->recording->profiles.items[0].sampling.lost,
                           .truncated_stacks = sampled->truncated_stacks,
                           .incomplete_stacks = sampled->incomplete_stacks};
}

static void line_complete(const struct answer *a, const struct sampled_totals *sampled,
                          const struct style *s, struct strbuf *out)
{
    struct totals flaws = flaws_of(a, sampled);
    bool not_recorded = !metric_is_sampled(a->query->metric) &&
                        summary_not_recorded(a->profile, s, out) != RECORDED;
    if (summary_flaws(a->recording, a->profile, &flaws, s, out) || not_recorded)
        return;
    if (profile_lacks(a->profile, UNKNOWN_LOSSES))
        return; /* what its tool lost is not known */
    summary_label(out, s, "complete");
    strbuf_puts(out, metric_is_sampled(a->query->metric) ? "no sample lost, no stack cut off\n"
                     : a->profile->sample_bytes
                         ? "no sampled event lost, no stack cut off, no unknown frees\n"
                         : "no event lost, no stack cut off, no unknown frees\n");
}

static void line_value(const struct answer *a, const struct style *s, const char *name,
                       struct value v, const char *why, struct strbuf *out)
{
    summary_label(out, s, name);
    unit_amount(out, a->query->metric, v.amount);
    strbuf_puts(out, " in ");
    unit_counted(out, v.count, report_count_word(a->query->metric));
    strbuf_printf(out, " %s\n", why);
}

/* A line that is dropped if the summary has too many lines. */
struct spare_line {
    size_t from, to;
};

/* In the order in which they are dropped. */
enum {
    SPARE_THREADS,
    SPARE_PYTHON,
    SPARE_INHERITED,
    SPARE_TEMPORARY,
    SPARE_ARENAS,
    SPARE_POOLS,
    SPARE_LINES
};

/* Everything from `from` to the end of `out` is a line of that kind. */
static void spare_add(struct spare_line *spares, int kind, size_t from, const struct strbuf *out)
{
    spares[kind] = (struct spare_line){from, out->size};
}

static void drop_spare_lines(struct strbuf *out, size_t start, struct spare_line *spares)
{
    for (int i = 0; i < SPARE_LINES && summary_lines(out, start) > SUMMARY_LINES; i++) {
        size_t from = spares[i].from, size = spares[i].to - from;
        memmove(out->data + from, out->data + from + size, out->size - from - size + 1);
        out->size -= size;
        for (int later = i + 1; later < SPARE_LINES; later++)
            if (spares[later].from > from) {
                spares[later].from -= size;
                spares[later].to -= size;
            }
    }
}

/* The lines about the heap. */
static void lines_heap(const struct answer *a, const struct style *s, struct spare_line *spares,
                       struct strbuf *out)
{
    const struct profile *p = a->profile;
    line_counts(a, s, out);
    size_t from = out->size;
    if (a->query->metric == METRIC_UNTOUCHED) {
        line_untouched(p, s, out);
    } else {
        line_temporary(&a->totals, s, out);
        spare_add(spares, SPARE_TEMPORARY, from, out);
    }
    line_mapped(a, s, out);
    from = out->size;
    line_inherited(p, s, out);
    spare_add(spares, SPARE_INHERITED, from, out);
    summary_attached(p, s, out);
    from = out->size;
    line_pools(a, s, out);
    spare_add(spares, SPARE_POOLS, from, out);
    lines_gpu(p, s, out);
    from = out->size;
    line_python(a, s, out);
    spare_add(spares, SPARE_PYTHON, from, out);
    from = out->size;
    summary_arenas_charged(a, s, out);
    spare_add(spares, SPARE_ARENAS, from, out);
    line_python_freed(a, s, out);
}

static void line_threads(const struct profile *p, const struct style *s, struct strbuf *out)
{
    if (!p->threads.count || profile_lacks(p, UNKNOWN_THREADS))
        return;
    summary_label(out, s, "threads");
    if (p->merge)
        say(out, "%N name(s)\n", p->threads.count);
    else
        say(out, "%N\n", p->threads.count);
}

void summary_text(const struct answer *a, const struct style *s, struct strbuf *out)
{
    const struct profile *p = a->profile;
    struct spare_line spares[SPARE_LINES] = {0};
    size_t start = out->size;
    summary_program(p, s, out);
    imported_summary(p, s, out);
    line_window(a, s, out);
    struct sampled_totals sampled = sampled_totals(p, &a->window, a->query->metric);
    if (metric_is_sampled(a->query->metric)) {
        line_samples(a, &sampled, s, out);
        line_no_python(a, s, out);
    } else if (not_recorded(p, &(size_t){0}) != RECORDED_NOTHING) {
        lines_heap(a, s, spares, out);
    }
    merge_spread_text(a, s, out);
    size_t from = out->size;
    line_threads(p, s, out);
    spare_add(spares, SPARE_THREADS, from, out);
    line_complete(a, &sampled, s, out);
    bool outside = !value_is_zero(a->tree.outside);
    size_t room = summary_room(out, start), later = outside + (p->notes.count > 0);
    summary_ignored(&a->tree, &a->frames, a->query->metric, s, room > later ? room - later : 1,
                    out);
    if (outside)
        line_value(a, s, "outside", a->tree.outside, "not matching the filters, not in the table",
                   out);
    summary_notes(a->recording, p, s, start, out);
    drop_spare_lines(out, start, spares);
}
