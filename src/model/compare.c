#include "model/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/mark_rows.h"
#include "model/sample_sums.h"

#define DEVIATIONS 3 /* standard deviations that may be chance */

/* --- processes and copies --------------------------------------------------------------------- */

static const struct profile *profile_of(const struct recording *r, uint32_t pid)
{
    for (size_t i = 0; i < r->profiles.count; i++)
        if (r->profiles.items[i].pid == pid)
            return &r->profiles.items[i];
    return NULL;
}

/* The number of the copy (from 1) that the process is or was started by; one more than there are:
 * not known. */
static size_t copy_of(const struct compare_input *in, const struct profile *p)
{
    for (size_t steps = 0; p && steps <= in->together->profiles.count; steps++) {
        for (size_t k = 0; k < in->copies; k++)
            if (in->pids[k] == p->pid || in->pids[k] == p->ppid)
                return k + 1;
        p = profile_of(in->together, p->ppid);
    }
    return in->copies + 1;
}

/* --- runs ------------------------------------------------------------------------------------- */

static void add_process(struct compare_run *run, const struct profile *p, const char *per)
{
    uint64_t end_ns = p->start_unix_ns + p->duration_ns;
    run->processes++;
    run->first_ns =
        run->first_ns && run->first_ns < p->start_unix_ns ? run->first_ns : p->start_unix_ns;
    run->last_ns = run->last_ns > end_ns ? run->last_ns : end_ns;
    run->duration_ns = run->last_ns - run->first_ns;
    for (size_t i = 0; i < p->marks.count && per; i++)
        run->units +=
            p->marks.items[i].name && mark_has_label(p->marks.items[i].name, per, strlen(per));
    struct sampled_totals t = sampled_whole(p);
    run->cpu_ns += t.cpu_ns;
    run->faults += t.faults;
    run->fault_bytes += t.fault_bytes;
    run->lost += p->sampling.lost;
}

struct compare_run compare_copies(const struct compare *c)
{
    struct compare_run all = {0};
    for (size_t i = 1; i < c->runs.count; i++) {
        const struct compare_run *r = &c->runs.items[i];
        all.units += r->units;
        all.duration_ns += r->duration_ns;
        all.cpu_ns += r->cpu_ns;
        all.faults += r->faults;
        all.fault_bytes += r->fault_bytes;
        all.lost += r->lost;
        all.kernel.user_ns += r->kernel.user_ns;
        all.kernel.system_ns += r->kernel.system_ns;
        all.kernel.minor_faults += r->kernel.minor_faults;
        all.kernel.major_faults += r->kernel.major_faults;
        all.processes += r->processes;
    }
    return all;
}

/* --- rows ------------------------------------------------------------------------------------- */

static size_t cell(size_t run, bool total, enum compare_measure m)
{
    return (run * 2 + total) * COMPARE_MEASURES + m;
}

static void add_key(struct strbuf *key, const struct answer *a, const struct answer_row *row)
{
    strbuf_clear(key);
    strbuf_puts(key, row->name ? row->name : "");
    if (a->query->by == BY_LINE)
        strbuf_printf(key, "\n%s:%" PRIu32, row->file ? row->file : "", row->line);
    if (a->query->by != BY_STACK)
        return;
    strbuf_printf(key, "\n%s", row->thread ? row->thread : "");
    for (uint32_t n = row->call; n; n = a->merged.parent.items[n]) {
        const struct call_frame *f = &a->frames.frames.items[a->merged.key.items[n]];
        strbuf_printf(key, "\n%s", frame_table_string(&a->frames, f->name));
    }
}

static struct compare_row *row_of(struct compare *c, const char *key, const struct answer_row *row)
{
    uint32_t number = strpool_add(&c->keys, key);
    while (c->rows.count <= number)
        *vec_push(&c->rows) = (struct compare_row){0};
    struct compare_row *r = &c->rows.items[number];
    if (!r->cells) {
        *r = (struct compare_row){.name = row->name,
                                  .module = row->module,
                                  .file = row->file,
                                  .line = row->line,
                                  .thread = row->thread,
                                  .answer = (uint32_t)c->answers.count - 1,
                                  .call = row->call};
        r->cells = xcalloc(cell(c->runs.count, false, 0), sizeof *r->cells);
    }
    return r;
}

static void add_answer(struct compare *c, const struct answer *a, size_t run,
                       enum compare_measure amount, enum compare_measure count)
{
    struct strbuf key = {0};
    for (size_t i = 0; i < a->rows.rows.count; i++) {
        const struct answer_row *row = &a->rows.rows.items[i];
        add_key(&key, a, row);
        int64_t *cells = row_of(c, key.data, row)->cells;
        for (int total = 0; total < 2; total++) {
            struct value v = total ? row->total : row->self;
            int64_t *to = &cells[cell(run, total, amount)], *n = &cells[cell(run, total, count)];
            *to = wrapped(*to, v.amount);
            *n = wrapped(*n, v.count);
        }
    }
    strbuf_release(&key);
}

/* Asks for both metrics of one process; one that was not recorded has no rows. */
static int ask(struct compare *c, const struct recording *r, const struct profile *p,
               const struct query *q, size_t run, struct err *err)
{
    static const struct {
        enum metric metric;
        enum compare_measure amount, count;
    } asked[] = {{METRIC_CPU, COMPARE_CPU_NS, COMPARE_SAMPLES},
                 {METRIC_FAULTS, COMPARE_FAULT_BYTES, COMPARE_FAULTS}};
    size_t programs = 1;
    for (const struct profile *other = r->profiles.items; other < p; other++)
        programs += other->pid == p->pid;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct compare_answer *a = xcalloc(1, sizeof *a);
        snprintf(a->process, sizeof a->process, "%" PRIu32 "#%zu", p->pid, programs);
        a->query = *q;
        a->query.metric = asked[i].metric;
        a->query.process = a->process;
        a->run = run;
        int code = answer_query(&a->answer, r, &a->query, err);
        if (code == 0) {
            *vec_push(&c->answers) = a;
            add_answer(c, &a->answer, run, asked[i].amount, asked[i].count);
            continue;
        }
        free(a);
        if (code == -EINVAL)
            return code;
    }
    return 0;
}

/* --- chance ----------------------------------------------------------------------------------- */

/*
 * Of two counts of independent events with a given sum, the second is binomial. So the bounds of
 * its share (Wilson's, which also suit small counts and zero) give the bounds of the ratio.
 */
static void bound_ratio(struct compared *v, double alone, double together, double alone_units,
                        double together_units)
{
    double n = alone + together, z2 = DEVIATIONS * DEVIATIONS;
    double share = n > 0 ? together / n : 0, by = alone_units / together_units;
    v->ratio_low = 0;
    v->ratio_high = INFINITY;
    if (!(n > 0) || !(alone >= 0) || !(together >= 0))
        return;
    double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    double room = sqrt(z2 * share * (1 - share) / n + z2 * z2 / (4 * n * n)) / (1 + z2 / n);
    if (together > 0)
        v->ratio_low = (middle - room) / (1 - (middle - room)) * by;
    if (alone > 0)
        v->ratio_high = (middle + room) / (1 - (middle + room)) * by;
}

/* --- per unit --------------------------------------------------------------------------------- */

/* The number of recorded events: samples, or one fault in so many. */
static double events(const struct compare *c, const struct compare_row *r, size_t run, bool total,
                     enum compare_measure m)
{
    bool cpu = m == COMPARE_CPU_NS || m == COMPARE_SAMPLES;
    double n = (double)r->cells[cell(run, total, cpu ? COMPARE_SAMPLES : COMPARE_FAULTS)];
    return cpu ? n : n / c->fault_period;
}

static struct compared per_unit(const struct compare *c, const struct compare_row *r, bool total,
                                enum compare_measure m)
{
    struct compared v = {0};
    const struct compare_run *runs = c->runs.items;
    double sum = 0, units = 0;
    bool any = false;
    v.alone = (double)r->cells[cell(0, total, m)] / (double)runs[0].units;
    for (size_t i = 1; i < c->runs.count; i++) {
        double amount = (double)r->cells[cell(i, total, m)], n = (double)runs[i].units;
        sum += amount;
        units += n;
        if (!runs[i].units)
            continue;
        v.low = any && v.low < amount / n ? v.low : amount / n;
        v.high = any && v.high > amount / n ? v.high : amount / n;
        any = true;
    }
    v.together = sum / units;
    double alone = events(c, r, 0, total, m), together = 0;
    for (size_t i = 1; i < c->runs.count; i++)
        together += events(c, r, i, total, m);
    bound_ratio(&v, alone, together, (double)runs[0].units, units);
    return v;
}

static void finish_row(const struct compare *c, struct compare_row *r)
{
    for (int m = 0; m < COMPARE_MEASURES; m++) {
        r->self[m] = per_unit(c, r, false, (enum compare_measure)m);
        r->total[m] = per_unit(c, r, true, (enum compare_measure)m);
    }
}

static int by_change(const struct compare_row *a, const struct compare_row *b,
                     enum compare_measure m)
{
    double x = compared_certain_change(a->self[m]), y = compared_certain_change(b->self[m]);
    if (compared_is_nothing(a->self[m]) != compared_is_nothing(b->self[m]))
        return compared_is_nothing(a->self[m]) ? 1 : -1;
    if (x == y) {
        x = compared_change(a->self[m]);
        y = compared_change(b->self[m]);
    }
    if (x == y) {
        x = compared_change(a->total[m]);
        y = compared_change(b->total[m]);
    }
    int c = (x < y) - (x > y);
    c = c ? c : text_compare(a->name, b->name);
    c = c ? c : text_compare(a->file, b->file);
    c = c ? c : (a->line > b->line) - (a->line < b->line);
    c = c ? c : text_compare(a->thread, b->thread);
    return c ? c : (a->call > b->call) - (a->call < b->call);
}

static int by_cpu(const void *a, const void *b)
{
    return by_change(a, b, COMPARE_CPU_NS);
}

static int by_faults(const void *a, const void *b)
{
    return by_change(a, b, COMPARE_FAULTS);
}

static void order(struct compare *c)
{
    enum compare_measure m = c->query->metric == METRIC_FAULTS ? COMPARE_FAULTS : COMPARE_CPU_NS;
    double all = 0;
    size_t kept = 0;
    for (size_t i = 0; i < c->rows.count; i++) {
        struct compare_row *r = &c->rows.items[i];
        if (!r->cells) /* the empty name has a number too */
            continue;
        finish_row(c, r);
        all += fabs(compared_change(r->self[m]));
        c->rows.items[kept++] = *r;
    }
    c->rows.count = kept;
    if (kept)
        qsort(c->rows.items, kept, sizeof *c->rows.items, m == COMPARE_FAULTS ? by_faults : by_cpu);
    kept = 0;
    for (size_t i = 0; i < c->rows.count; i++) {
        struct compare_row *r = &c->rows.items[i];
        double change = fmax(fabs(compared_change(r->self[m])), fabs(compared_change(r->total[m])));
        if (query_keeps(c->query, kept, change, all)) {
            c->rows.items[kept++] = *r;
        } else {
            free(r->cells);
            c->left_out += !compared_is_nothing(r->self[m]);
        }
    }
    c->rows.count = kept;
}

/* --- compare_query ---------------------------------------------------------------------------- */

static int count_runs(struct compare *c, const struct compare_input *in, struct err *err)
{
    for (size_t i = 0; i < in->copies + 2; i++)
        *vec_push(&c->runs) = (struct compare_run){.units = in->per || i > in->copies ? 0 : 1};
    for (size_t i = 0; i < in->copies; i++)
        c->runs.items[i + 1].pid = in->pids[i];
    for (size_t i = 0; i <= in->copies; i++)
        c->runs.items[i].kernel = in->kernel[i];
    for (size_t i = 0; i < in->alone->profiles.count; i++)
        add_process(&c->runs.items[0], &in->alone->profiles.items[i], in->per);
    for (size_t i = 0; i < in->together->profiles.count; i++) {
        const struct profile *p = &in->together->profiles.items[i];
        add_process(&c->runs.items[copy_of(in, p)], p, in->per);
    }
    c->runs.items[0].pid = in->alone->profiles.count ? in->alone->profiles.items[0].pid : 0;
    if (!c->runs.items[0].units || !compare_copies(c).units)
        return err_set(err, -ENODATA, "%s made no mark '%s', so there is nothing to count work by",
                       c->runs.items[0].units ? "the copies" : "the run alone", in->per);
    return 0;
}

int compare_query(struct compare *c, const struct compare_input *in, const struct query *q,
                  struct err *err)
{
    uint64_t period =
        in->alone->profiles.count ? in->alone->profiles.items[0].sampling.fault_period : 0;
    *c = (struct compare){.query = q,
                          .per = in->per,
                          .copies = in->copies,
                          .fault_period = period ? (double)period : 1};
    struct query all = *q;
    all.top = QUERY_ALL;
    all.min_percent = 0;
    int code = count_runs(c, in, err);
    all.filter.match = in->together;
    for (size_t i = 0; i < in->alone->profiles.count && !code; i++)
        code = ask(c, in->alone, &in->alone->profiles.items[i], &all, 0, err);
    all.filter.match = in->alone;
    for (size_t i = 0; i < in->together->profiles.count && !code; i++) {
        const struct profile *p = &in->together->profiles.items[i];
        code = ask(c, in->together, p, &all, copy_of(in, p), err);
    }
    if (code)
        compare_release(c);
    else
        order(c);
    return code;
}

void compare_release(struct compare *c)
{
    for (size_t i = 0; i < c->rows.count; i++)
        free(c->rows.items[i].cells);
    for (size_t i = 0; i < c->answers.count; i++) {
        answer_release(&c->answers.items[i]->answer);
        free(c->answers.items[i]);
    }
    vec_release(&c->rows);
    vec_release(&c->runs);
    vec_release(&c->answers);
    strpool_release(&c->keys);
    *c = (struct compare){0};
}
