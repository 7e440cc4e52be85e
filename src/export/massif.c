/*
 * massif: the text format of valgrind's heap profiler, which ms_print and massif-visualizer open.
 *
 * It holds what was live at up to SNAPSHOTS moments. The peak and the last one have all stacks;
 * every tenth of the others has the calls with at least a hundredth. It loses counts, threads and
 * marks. Extra bytes are what the allocator reserved beyond what was requested.
 *
 * Trees lead from the function that allocated to its callers. They are printed without being built:
 * the stacks of a call are a range of an array, which is sorted by the next caller.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"

#define SNAPSHOTS 100
#define DETAILED  10   /* every so many snapshots have a tree */
#define THRESHOLD 0.01 /* of the whole: calls with less are summed up */
#define DEPTH     1000 /* calls in a tree at most: each is indented by a column */

struct massif {
    struct export *e;
    const struct stack_table *table;
    int64_t *live, *extra; /* by site, at the current snapshot */
    uint64_t *addresses;   /* by frame */
    uint32_t *node;        /* by site: node of the merged tree; 0: not exported */
    unsigned snapshot;
    bool cut; /* a tree was deeper than DEPTH */
};

/* --- trees ------------------------------------------------------------------------------------ */

struct item {
    uint32_t node; /* in merged: the next call of its stack; 0: none */
    uint32_t frame;
    uint64_t bytes;
};

struct part {
    size_t from, to;
    uint64_t bytes;
    uint32_t frame, depth;
    size_t places; /* not 0: it stands for so many calls below the threshold */
};

struct parts {
    VEC(struct part) list;
};

static int by_frame(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

static int by_size(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

/* Finds the next calls of a range of stacks, largest first; those below `least` become one at the
 * end. */
static void divide(struct massif *m, struct item *items, const struct part *of, double least,
                   struct parts *out)
{
    struct part small = {.depth = of->depth + 1};
    out->list.count = 0;
    if (of->depth >= DEPTH) {
        m->cut = true;
        return;
    }
    for (size_t i = of->from; i < of->to; i++)
        items[i].frame = items[i].node ? m->table->merged.key.items[items[i].node] : CALL_NONE;
    qsort(items + of->from, of->to - of->from, sizeof *items, by_frame);
    for (size_t i = of->from, end; i < of->to && items[i].node; i = end) {
        struct part p = {.from = i, .frame = items[i].frame, .depth = of->depth + 1};
        for (end = i; end < of->to && items[end].frame == p.frame; end++)
            p.bytes += items[end].bytes;
        p.to = end;
        if ((double)p.bytes >= least) {
            *vec_push(&out->list) = p;
        } else {
            small.bytes += p.bytes;
            small.places++;
        }
    }
    if (out->list.count)
        qsort(out->list.items, out->list.count, sizeof *out->list.items, by_size);
    if (small.places)
        *vec_push(&out->list) = small;
}

static void put_frame(struct strbuf *out, const struct massif *m, uint32_t frame)
{
    struct stack_frame f = stack_frame_of(&m->table->frames, frame);
    strbuf_printf(out, "0x%" PRIX64 ": ", m->addresses[frame]);
    for (const char *s = f.name; *s; s++)
        strbuf_putc(out, (unsigned char)*s < ' ' ? ' ' : *s);
    const char *place = *f.file && f.line ? f.file : f.module;
    if (!*place)
        return;
    strbuf_puts(out, *f.file && f.line ? " (" : " (in ");
    for (const char *s = place; *s; s++)
        strbuf_putc(out, (unsigned char)*s < ' ' ? ' ' : *s);
    if (*f.file && f.line)
        strbuf_printf(out, ":%" PRIu32, f.line);
    strbuf_putc(out, ')');
}

static void put_tree(struct massif *m, struct item *items, size_t count, uint64_t sum, double least)
{
    struct strbuf *out = m->e->out;
    struct parts open = {0}, next = {0};
    *vec_push(&open.list) = (struct part){.to = count, .bytes = sum, .frame = CALL_NONE};
    while (open.list.count) {
        struct part p = open.list.items[--open.list.count];
        if (p.places) {
            strbuf_printf(
                out, "%*sn0: %" PRIu64 " in %zu place%s, %sbelow massif's threshold (%.2f%%)\n",
                (int)p.depth, "", p.bytes, p.places, p.places == 1 ? "" : "s",
                p.places == 1 ? "" : "all ", 100 * THRESHOLD);
            continue;
        }
        for (size_t i = p.from; i < p.to && p.depth; i++)
            items[i].node = m->table->merged.parent.items[items[i].node];
        divide(m, items, &p, least, &next);
        strbuf_printf(out, "%*sn%zu: %" PRIu64 " ", (int)p.depth, "", next.list.count, p.bytes);
        if (p.depth)
            put_frame(out, m, p.frame);
        else
            strbuf_puts(out, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
        strbuf_putc(out, '\n');
        for (size_t i = next.list.count; i-- > 0;)
            *vec_push(&open.list) = next.list.items[i];
        report_flush(m->e->sink, out);
    }
    vec_release(&open.list);
    vec_release(&next.list);
}

/* --- snapshots -------------------------------------------------------------------------------- */

enum detail { DETAIL_NONE, DETAIL_SOME, DETAIL_ALL, DETAIL_PEAK };

static void put_snapshot(struct massif *m, uint64_t time_ns, enum detail detail)
{
    static const char *const words[] = {[DETAIL_NONE] = "empty",
                                        [DETAIL_SOME] = "detailed",
                                        [DETAIL_ALL] = "detailed",
                                        [DETAIL_PEAK] = "peak"};
    size_t sites = m->table->profile->sites.count, count = 0;
    struct item *items = xmalloc((sites + 1) * sizeof *items);
    uint64_t sum = 0, extra = 0;
    for (size_t s = 0; s < sites; s++) {
        if (!m->node[s] || m->live[s] <= 0)
            continue;
        sum += (uint64_t)m->live[s];
        extra += m->extra[s] > 0 ? (uint64_t)m->extra[s] : 0;
        items[count++] = (struct item){.node = m->node[s], .bytes = (uint64_t)m->live[s]};
    }
    strbuf_printf(m->e->out,
                  "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
                  "\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=0\nheap_tree=%s\n",
                  m->snapshot++, time_ns / 1000000, sum, extra, words[detail]);
    if (detail)
        put_tree(m, items, count, sum, detail == DETAIL_SOME ? THRESHOLD * (double)sum : 0);
    free(items);
}

static void add_window(struct massif *m, const struct window *w, int sign)
{
    const struct profile *p = m->table->profile;
    enum metric metric = m->table->columns[0].metric;
    struct measure live, usable;
    measure_sites(&live, p, metric, SIZE_REQUESTED, w);
    measure_sites(&usable, p, metric, SIZE_USABLE, w);
    for (size_t s = 0; s < p->sites.count; s++) {
        int64_t extra = wrapped_less(usable.sites[s].amount, live.sites[s].amount);
        int64_t (*const add)(int64_t, int64_t) = sign > 0 ? wrapped : wrapped_less;
        m->live[s] = add(m->live[s], live.sites[s].amount);
        m->extra[s] = add(m->extra[s], extra);
    }
    measure_release(&live);
    measure_release(&usable);
}

static struct window intervals(size_t from, size_t to)
{
    return (struct window){.since = {.intervals = from}, .at = {.intervals = to}};
}

/* The peak of the metric: of the heap, or of graphics processors. */
static uint64_t peak_ns(const struct massif *m)
{
    const struct profile *p = m->table->profile;
    enum metric metric = m->table->columns[0].metric;
    return metric_is_gpu(metric) ? gpu_figures_of(p, metric)->peak_ns : p->peak_time_ns;
}

static size_t peak_interval(const struct massif *m)
{
    const struct profile *p = m->table->profile;
    size_t i = 0;
    if (!metric_is_gpu(m->table->columns[0].metric))
        return profile_peak_interval(p);
    while (i + 1 < p->intervals.count && p->intervals.items[i].end_ns < peak_ns(m))
        i++;
    return i;
}

/* The peak is inside an interval; sites have their values at that moment. */
static void put_peak(struct massif *m, size_t before)
{
    const struct profile *p = m->table->profile;
    const struct window peak = {.at = {.peak = true}}, now = intervals(0, before);
    size_t in = peak_interval(m);
    uint64_t time = peak_ns(m);
    if (in < p->intervals.count && p->intervals.items[in].end_ns < time)
        time = p->intervals.items[in].end_ns;
    add_window(m, &now, -1);
    add_window(m, &peak, 1);
    put_snapshot(m, time, DETAIL_PEAK);
    add_window(m, &peak, -1);
    add_window(m, &now, 1);
}

static void put_snapshots(struct massif *m)
{
    const struct profile *p = m->table->profile;
    const struct moment *at = &m->table->windows[0].at;
    enum metric metric = m->table->columns[0].metric;
    size_t peak = peak_interval(m), end = at->peak ? peak : at->intervals, done = 0;
    uint64_t peak_bytes = metric == METRIC_LIVE   ? p->peak_bytes
                          : metric_is_gpu(metric) ? gpu_figures_of(p, metric)->peak_bytes
                                                  : 0;
    bool has_peak = peak_bytes && (at->peak || peak < end);
    put_snapshot(m, 0, DETAIL_NONE);
    for (size_t i = 1; i <= SNAPSHOTS && end; i++) {
        size_t to = end * i / SNAPSHOTS;
        if (to == done)
            continue;
        if (has_peak && peak < to) {
            put_peak(m, done);
            has_peak = false;
        }
        const struct window w = intervals(done, to);
        add_window(m, &w, 1);
        done = to;
        put_snapshot(m, p->intervals.items[to - 1].end_ns,
                     to == end && !at->peak        ? DETAIL_ALL
                     : m->snapshot % DETAILED == 0 ? DETAIL_SOME
                                                   : DETAIL_NONE);
    }
    if (has_peak)
        put_peak(m, done);
}

int export_massif(struct export *e, struct err *err)
{
    enum metric metric = e->metric_given ? e->query->metric : METRIC_LIVE;
    const struct stack_column column = {metric, SIZE_REQUESTED, .ever = true};
    struct stack_table table;
    struct strbuf command = {0};
    if (metric != METRIC_LIVE && metric != METRIC_MAPPED && metric != METRIC_POOL &&
        !metric_is_gpu(metric))
        return err_set(err, -EINVAL,
                       "massif holds what is live: --metric is live, mapped, pool, gpu or tensor, "
                       "not %s",
                       metric_name(metric));
    int code = stack_table_init(&table, e->recording, e->query, &column, 1, err);
    if (code)
        return code;
    size_t sites = table.profile->sites.count + 1;
    struct massif m = {.e = e,
                       .table = &table,
                       .addresses = stack_table_addresses(&table),
                       .live = xcalloc(sites, sizeof *m.live),
                       .extra = xcalloc(sites, sizeof *m.extra),
                       .node = xcalloc(sites, sizeof *m.node)};
    for (size_t i = 0; i < table.rows.count; i++)
        m.node[table.rows.items[i].site] = table.rows.items[i].node;
    profile_command(table.profile, &command);
    for (size_t i = 0; i < command.size; i++)
        if ((unsigned char)command.data[i] < ' ')
            command.data[i] = ' ';
    strbuf_printf(e->out, "desc: tidemark %s\ncmd: %s\ntime_unit: ms\n", TIDEMARK_VERSION,
                  command.data);
    put_snapshots(&m);
    if (profile_lacks(table.profile, UNKNOWN_USABLE))
        strbuf_puts(e->notes,
                    "tidemark export: massif holds no extra bytes of this recording: they "
                    "are not known\n");
    if (m.cut)
        strbuf_printf(e->notes, "tidemark export: massif holds at most %d calls of a stack\n",
                      DEPTH);
    free(m.addresses);
    free(m.live);
    free(m.extra);
    free(m.node);
    strbuf_release(&command);
    stack_table_release(&table);
    return 0;
}
