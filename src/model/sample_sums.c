#include "model/sample_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "model/imported.h"
#include "model/measure.h"

static void add_row(struct sampled_totals *t, const struct profile *p, const struct site *s,
                    const uint64_t *columns)
{
    if (s->domain == DOMAIN_CPU) {
        bool kernel = s->node < p->nodes.count && p->nodes.items[s->node].address == NODE_KERNEL;
        t->cpu_ns += columns[COL_BYTES];
        t->cpu_samples += columns[COL_ALLOCS];
        t->kernel_ns += kernel ? columns[COL_BYTES] : 0;
        t->kernel_samples += kernel ? columns[COL_ALLOCS] : 0;
    } else if (s->domain == DOMAIN_WAITING) {
        t->waiting_ns += columns[COL_BYTES];
        t->waits += columns[COL_ALLOCS];
    } else if (s->domain == DOMAIN_READY) {
        t->ready_ns += columns[COL_BYTES];
    } else if (s->domain == DOMAIN_FAULTS) {
        t->fault_bytes += columns[COL_BYTES];
        t->faults += columns[COL_ALLOCS];
        t->huge_faults += columns[COL_HUGE_FAULTS];
        t->file_faults += columns[COL_FILE_FAULTS];
        t->copy_faults += columns[COL_COPIES];
    } else if (s->domain == DOMAIN_TOUCHED) {
        t->touched += columns[COL_ALLOCS];
        t->touched_bytes += columns[COL_BYTES];
    }
}

struct sampled_totals sampled_totals(const struct profile *p, const struct window *w,
                                     enum metric metric)
{
    struct sampled_totals t = {0};
    if (!profile_is_sampled(p))
        return t;
    uint8_t *ends = profile_stack_ends(p);
    bool sampled = metric_is_sampled(metric);
    for (size_t i = w->since.intervals; i < w->at.intervals; i++) {
        const struct interval *iv = &p->intervals.items[i];
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            const struct site *s = &p->sites.items[row->site];
            add_row(&t, p, s, row->columns);
            if (!sampled || !metric_measures(metric, s->domain))
                continue;
            if (ends[s->node] == NODE_TRUNCATED)
                t.truncated_stacks += row->columns[COL_ALLOCS];
            if (ends[s->node] == NODE_INCOMPLETE)
                t.incomplete_stacks += row->columns[COL_ALLOCS];
        }
    }
    free(ends);
    return t;
}

struct sampled_part *sampled_over_time(const struct profile *p, const struct window *w, size_t most,
                                       size_t *count)
{
    struct sampled_part *parts = xcalloc(most, sizeof *parts);
    uint64_t begin = w->since.time_ns, end = w->at.time_ns;
    size_t part = most; /* the part that was added to last; `most`: none yet */
    *count = 0;
    for (size_t i = w->since.intervals; i < w->at.intervals; i++) {
        const struct interval *iv = &p->intervals.items[i];
        uint64_t past = iv->end_ns > begin ? iv->end_ns - begin - 1 : 0;
        size_t belongs =
            end > begin ? (size_t)((double)past / (double)(end - begin) * (double)most) : 0;
        if (belongs >= most)
            belongs = most - 1;
        if (part == most || belongs != part)
            ++*count;
        part = belongs;
        struct sampled_part *now = &parts[*count - 1];
        now->end_ns = iv->end_ns;
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++)
            if (p->sites.items[p->rows.items[r].site].domain == DOMAIN_CPU)
                now->cpu_ns += p->rows.items[r].columns[COL_BYTES];
    }
    return parts;
}

struct sampled_totals sampled_whole(const struct profile *p)
{
    const struct window w = {.at = {.intervals = p->intervals.count}};
    return sampled_totals(p, &w, METRICS);
}

enum metric sampled_default(const struct recording *r)
{
    const struct sampling *g = r->profiles.count ? &r->profiles.items[0].sampling : NULL;
    if (r->profiles.count && r->profiles.items[0].imported.from)
        return known_default(&r->profiles.items[0]);
    return !g || !g->alone ? METRIC_LIVE : g->cpu_period_ns ? METRIC_CPU : METRIC_FAULTS;
}

int sampled_heap_check(const struct profile *p, struct err *err)
{
    if (!p->sampling.alone || !profile_is_sampled(p))
        return 0;
    if (p->imported.from)
        return err_set(
            err, -ENODATA,
            "this recording was imported from %.100s and has samples only; see 'tidemark report'",
            p->imported.from);
    return err_set(
        err, -ENODATA,
        "this recording has no heap data, because it was made with --only-cpu, --only-faults or "
        "--all; record again without, or see 'tidemark report --metric %s'",
        p->sampling.cpu_period_ns ? "cpu" : "faults");
}
