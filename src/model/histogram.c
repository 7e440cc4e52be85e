#include "model/histogram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/not_recorded.h"
#include "store/buckets.h"

#define NO_ROW UINT32_MAX

/* Some blocks in one bucket of one row. */
struct part {
    uint32_t row, bucket;
    uint64_t count, bytes;
};

#define NEVER UINT32_MAX /* the bucket of blocks that were never freed */

struct parts {
    struct part *items;
    size_t count, capacity;
};

int histograms_check(const struct profile *p, const struct query *q, const struct window *w,
                     struct err *err)
{
    const char *kind = histogram_kind_name(q->histogram);
    if (q->metric != METRIC_TOTAL)
        return err_set(err, -EINVAL,
                       "--histogram %s is of all allocations (--metric total), not of %s", kind,
                       metric_name(q->metric));
    if (q->size != SIZE_REQUESTED)
        return err_set(err, -EINVAL, "--histogram %s is of requested sizes; leave out --size %s",
                       kind, size_kind_name(q->size));
    if (q->shape != SHAPE_TABLE)
        return err_set(err, -EINVAL,
                       "--histogram cannot be combined with --tree, --callers or --callees");
    if (!window_is_whole(p, w))
        return err_set(err, -EINVAL,
                       "--histogram %s is known for the whole run only; leave out --since and --at",
                       kind);
    if (!p->has_histograms && not_recorded(p, &(size_t){0}) == RECORDED_NOTHING)
        return err_set(err, -ENODATA,
                       "this recording has no histograms: no allocation was recorded");
    if (!p->has_histograms)
        return err_set(err, -ENODATA,
                       "this recording has no histograms: it was made by an older tidemark, or cut "
                       "short; record it again");
    return 0;
}

/* --- rows of sites ---------------------------------------------------------------------------- */

static void rows_of_groups(uint32_t *row_of, const struct query *q, const struct call_tree *t,
                           const struct answer_rows *rows, size_t sites)
{
    struct group g;
    group_init(&g, t->frames, t, q->by);
    uint32_t *row_of_group = xmalloc((g.count + 1) * sizeof *row_of_group);
    memset(row_of_group, 0xff, (g.count + 1) * sizeof *row_of_group);
    for (size_t i = 0; i < rows->rows.count; i++)
        row_of_group[rows->rows.items[i].call] = (uint32_t)i;
    for (size_t s = 0; s < sites; s++)
        if (t->site_call[s] != CALL_NONE)
            row_of[s] = row_of_group[g.of_frame[t->frame.items[t->site_call[s]]]];
    free(row_of_group);
    group_release(&g);
}

/* By thread and by stack, a row has a thread's name and stands for all threads of that name. */
static void rows_of_threads(uint32_t *row_of, const struct profile *p, const struct call_tree *t,
                            const struct answer_rows *rows, const struct merged *merged)
{
    struct strpool names = {0};
    struct map index = {0};
    strpool_add(&names, "");
    for (size_t i = 0; i < rows->rows.count; i++) {
        const struct answer_row *r = &rows->rows.items[i];
        const char *name = merged ? r->thread : r->name;
        uint32_t number = strpool_add(&names, name ? name : "");
        *map_at(&index, (uint64_t)(merged ? r->call : 0) << 32 | number) = (uint32_t)i;
    }
    for (size_t s = 0; s < p->sites.count; s++) {
        if (t->site_call[s] == CALL_NONE)
            continue;
        size_t thread = p->sites.items[s].thread;
        const char *name = thread < p->threads.count ? p->threads.items[thread].name : NULL;
        if (!merged && (!name || !*name))
            name = "[unknown]";
        uint32_t number = strpool_add(&names, name ? name : "");
        uint64_t stack = merged ? merged->of_call[t->site_call[s]] : 0;
        row_of[s] = map_get(&index, stack << 32 | number);
    }
    strpool_release(&names);
    map_release(&index);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void add_part(struct parts *parts, uint32_t row, uint32_t bucket, uint64_t count,
                     uint64_t bytes)
{
    if (row != NO_ROW && (count || bytes))
        *vec_push(parts) = (struct part){row, bucket, count, bytes};
}

/* Whatever of `rest` the site's rows do not list belongs to the default bucket. */
static void add_site(struct parts *parts, const struct bucket_rows *rows, size_t *at, uint32_t site,
                     uint32_t row, uint32_t common, struct value rest)
{
    uint64_t count = (uint64_t)rest.count, bytes = (uint64_t)rest.amount;
    for (; *at < rows->count && rows->items[*at].site <= site; ++*at) {
        const struct bucket_row *r = &rows->items[*at];
        if (r->site != site)
            continue;
        add_part(parts, row, r->bucket, r->count, r->bytes);
        count -= r->count;
        bytes -= r->bytes;
    }
    add_part(parts, row, common, count, bytes);
}

/* row_of NULL: everything is in one row. */
static void add_sites(struct parts *parts, enum histogram_kind kind, const struct profile *p,
                      const struct call_tree *t, const struct measure *total,
                      const struct measure *live, const uint32_t *row_of)
{
    size_t at = 0;
    for (size_t s = 0; s < total->count; s++) {
        if (t->site_call[s] == CALL_NONE)
            continue;
        uint32_t row = row_of ? row_of[s] : 0;
        struct value v = total->sites[s];
        if (kind == HISTOGRAM_SIZE) {
            add_site(parts, &p->sizes, &at, (uint32_t)s, row,
                     size_bucket(p->sites.items[s].unit_bytes), v);
            continue;
        }
        uint64_t kept = (uint64_t)live->sites[s].count;
        struct value frees = {0, (int64_t)((uint64_t)v.count - kept)};
        add_site(parts, &p->lifetimes, &at, (uint32_t)s, row, 0, frees);
        add_part(parts, row, NEVER, kept, 0);
    }
}

static int in_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static void add_bucket(struct histograms *h, struct spread *s, const struct part *p)
{
    if (p->bucket == NEVER) {
        s->never += p->count;
        return;
    }
    uint64_t (*from)(unsigned) = h->kind == HISTOGRAM_SIZE ? size_bucket_from : life_bucket_from;
    struct bucket *last = s->count ? vec_last(&h->buckets) : NULL;
    if (!last || last->from != from(p->bucket)) {
        last = vec_push(&h->buckets);
        *last = (struct bucket){.from = from(p->bucket), .to = from(p->bucket + 1)};
        s->count++;
    }
    last->count += p->count;
    last->bytes += p->bytes;
}

static void add_spreads(struct histograms *h, struct parts *parts, struct spread *rows,
                        size_t count)
{
    size_t at = 0;
    if (parts->count)
        qsort(parts->items, parts->count, sizeof *parts->items, in_order);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct spread){.first = h->buckets.count};
        for (; at < parts->count && parts->items[at].row == i; at++)
            add_bucket(h, &rows[i], &parts->items[at]);
    }
    parts->count = 0;
}

void histograms_make(struct histograms *h, const struct profile *p, const struct query *q,
                     const struct call_tree *t, const struct measure *m,
                     const struct answer_rows *rows, const struct merged *merged)
{
    struct parts parts = {0};
    struct measure live;
    struct window whole = {.at = {.intervals = p->intervals.count}};
    *h = (struct histograms){.kind = q->histogram};
    measure_sites(&live, p, METRIC_LIVE, SIZE_REQUESTED, &whole);
    add_sites(&parts, h->kind, p, t, m, &live, NULL);
    add_spreads(h, &parts, &h->all, 1);
    if (q->histogram_rows) {
        uint32_t *row_of = xmalloc((p->sites.count + 1) * sizeof *row_of);
        memset(row_of, 0xff, (p->sites.count + 1) * sizeof *row_of);
        if (q->by == BY_STACK || q->by == BY_THREAD)
            rows_of_threads(row_of, p, t, rows, q->by == BY_STACK ? merged : NULL);
        else
            rows_of_groups(row_of, q, t, rows, p->sites.count);
        add_sites(&parts, h->kind, p, t, m, &live, row_of);
        vec_reserve(&h->rows, rows->rows.count + 1);
        h->rows.count = rows->rows.count;
        add_spreads(h, &parts, h->rows.items, h->rows.count);
        free(row_of);
    }
    measure_release(&live);
    vec_release(&parts);
}

void histograms_release(struct histograms *h)
{
    vec_release(&h->buckets);
    vec_release(&h->rows);
}
