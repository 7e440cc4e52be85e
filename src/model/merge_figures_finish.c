/* merge_figures_finish: writes the call sites of a merge in their final order, with everything that
 * refers to them. Threads are in order of name, sites in order of node, thread and domain. */
#include <stdlib.h>
#include <string.h>

#include "model/merge_state.h"

struct order {
    uint64_t key; /* sort key */
    uint32_t number;
};

static int by_key(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* qsort has no context; only one merge is finished at a time. */
static const struct strpool *sorted_names;

static int by_name(const void *a, const void *b)
{
    return strcmp(strpool_get(sorted_names, *(const uint32_t *)a),
                  strpool_get(sorted_names, *(const uint32_t *)b));
}

/* Adds the threads that have sites, by name; `thread`: the final index of each. */
static void add_threads(const struct merge_figures *f, struct profile *into, uint32_t *thread)
{
    VEC(uint32_t) used = {0};
    for (size_t i = 0; i < f->threads.strings.count; i++)
        thread[i] = 0;
    for (size_t i = 0; i < f->sites.count; i++)
        if (!thread[f->sites.items[i].thread]++)
            *vec_push(&used) = f->sites.items[i].thread;
    sorted_names = &f->threads;
    if (used.count)
        qsort(used.items, used.count, sizeof *used.items, by_name);
    for (size_t i = 0; i < used.count; i++) {
        thread[used.items[i]] = (uint32_t)i;
        *vec_push(&into->threads) =
            (struct thread){.name = xstrdup(strpool_get(&f->threads, used.items[i]))};
    }
    vec_release(&used);
}

static void add_sites(const struct merge_figures *f, struct profile *into, const uint32_t *node,
                      const uint32_t *thread, uint32_t *site)
{
    struct order *order = xcalloc(f->sites.count + 1, sizeof *order);
    for (size_t i = 0; i < f->sites.count; i++) {
        const struct merge_site *s = &f->sites.items[i];
        order[i] = (struct order){(uint64_t)node[s->node] << 24 | (uint64_t)thread[s->thread] << 8 |
                                      s->domain,
                                  (uint32_t)i};
    }
    qsort(order, f->sites.count, sizeof *order, by_key);
    for (size_t i = 0; i < f->sites.count; i++) {
        const struct merge_site *s = &f->sites.items[order[i].number];
        site[order[i].number] = (uint32_t)i;
        *vec_push(&into->sites) = (struct site){.node = node[s->node],
                                                .thread = thread[s->thread],
                                                .domain = s->domain,
                                                .at_peak_bytes = s->at_peak_bytes,
                                                .at_peak_blocks = s->at_peak_blocks,
                                                .at_peak_usable = s->at_peak_usable,
                                                .own_peak_blocks = s->own_peak_blocks,
                                                .own_peak_bytes = s->own_peak_bytes,
                                                .largest_bytes = s->largest_bytes};
        if (domain_is_live(s->domain))
            into->peak_blocks += s->at_peak_blocks;
    }
    for (int which = 0; which < MERGE_INTERVALS; which++) {
        struct interval *v = vec_push(&into->intervals);
        *v = f->intervals[which];
        v->end_ns = into->duration_ns;
        v->peak_bytes = into->peak_bytes;
        v->first_row = into->rows.count;
        for (size_t i = 0; i < f->sites.count; i++) {
            struct row row = {.site = (uint32_t)i};
            uint64_t any = 0;
            memcpy(row.columns, f->sites.items[order[i].number].columns[which], sizeof row.columns);
            for (int n = 0; n < COLUMNS; n++)
                any |= row.columns[n];
            if (any)
                *vec_push(&into->rows) = row;
        }
        v->row_count = into->rows.count - v->first_row;
    }
    free(order);
}

static int by_site_and_reach(const void *a, const void *b)
{
    uint64_t x = merge_live_key(a), y = merge_live_key(b);
    return (x > y) - (x < y);
}

static void add_scan(const struct merge_figures *f, enum scan_kind kind, struct profile *into,
                     const uint32_t *site)
{
    const struct merge_scan *from = &f->scans[kind];
    if (!from->there)
        return;
    struct scan s = {.kind = kind,
                     .time_ns = from->time_ns,
                     .intervals = kind == SCAN_EXIT ? 1 : MERGE_INTERVALS,
                     .held_ns = from->held_ns,
                     .residency = from->residency,
                     .led = from->led,
                     .unreachable = from->unreachable ? xstrdup(from->unreachable) : NULL,
                     .first_row = into->live.count,
                     .row_count = from->rows.count};
    for (size_t i = 0; i < from->rows.count; i++) {
        struct live_row row = from->rows.items[i];
        row.site = site[row.site];
        *vec_push(&into->live) = row;
    }
    if (s.row_count)
        qsort(into->live.items + s.first_row, s.row_count, sizeof *into->live.items,
              by_site_and_reach);
    *vec_push(&into->scans) = s;
}

static int by_site_and_bucket(const void *a, const void *b)
{
    const struct bucket_row *x = a, *y = b;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static void add_buckets(const struct bucket_rows *from, struct bucket_rows *into,
                        const uint32_t *site)
{
    for (size_t i = 0; i < from->count; i++) {
        struct bucket_row row = from->items[i];
        row.site = site[row.site];
        *vec_push(into) = row;
    }
    if (into->count)
        qsort(into->items, into->count, sizeof *into->items, by_site_and_bucket);
}

static int by_site(const void *a, const void *b) /* both kinds of rows begin with the site */
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void merge_figures_finish(const struct merge_figures *f, struct profile *into, const uint32_t *node)
{
    uint32_t *thread = xcalloc(f->threads.strings.count + 1, sizeof *thread);
    uint32_t *site = xcalloc(f->sites.count + 1, sizeof *site);
    add_threads(f, into, thread);
    add_sites(f, into, node, thread, site);
    add_scan(f, SCAN_EXIT, into, site);
    add_scan(f, SCAN_END, into, site);
    into->has_histograms = !f->no_histograms;
    if (into->has_histograms) {
        add_buckets(&f->sizes, &into->sizes, site);
        add_buckets(&f->lifetimes, &into->lifetimes, site);
        for (size_t i = 0; i < f->freed_readings.count; i++) {
            *vec_push(&into->freed_readings) = f->freed_readings.items[i];
            vec_last(&into->freed_readings)->site = site[f->freed_readings.items[i].site];
        }
        if (into->freed_readings.count)
            qsort(into->freed_readings.items, into->freed_readings.count,
                  sizeof *into->freed_readings.items, by_site);
    }
    for (size_t i = 0; i < f->chains.count; i++) {
        *vec_push(&into->chains) = f->chains.items[i];
        vec_last(&into->chains)->site = site[f->chains.items[i].site];
    }
    if (into->chains.count)
        qsort(into->chains.items, into->chains.count, sizeof *into->chains.items, by_site);
    free(thread);
    free(site);
}
