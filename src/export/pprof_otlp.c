#include "export/pprof_otlp.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "model/imported.h"

static const struct profile_names names[METRICS] = {
    [METRIC_LIVE] = {"inuse_objects", "inuse_space"},
    [METRIC_TOTAL] = {"alloc_objects", "alloc_space"},
    [METRIC_PEAK] = {"peak_objects", "peak_space"},
    [METRIC_SITEPEAK] = {"sitepeak_objects", "sitepeak_space"},
    [METRIC_LARGEST] = {"largest_objects", "largest_space"},
    [METRIC_TEMPORARY] = {"temporary_objects", "temporary_space"},
    [METRIC_MAPPED] = {"mapped_objects", "mapped_space"},
    [METRIC_POOL] = {"pool_objects", "pool_space"},
    [METRIC_GPU] = {"gpu_objects", "gpu_space"},
    [METRIC_TENSOR] = {"tensor_objects", "tensor_space"},
    [METRIC_CPU] = {"samples", "cpu"},
    [METRIC_FAULTS] = {"faults", "fault_space"},
    [METRIC_UNTOUCHED] = {"untouched_objects", "untouched_space"},
    [METRIC_TOUCHED] = {"touches", "touched_space"},
    [METRIC_WALL] = {"times", "wall"},
    [METRIC_WAITING] = {"waits", "waiting"},
    [METRIC_SAMPLES] = {"samples", "events"},
};

struct profile_names profile_names(enum metric metric)
{
    return names[metric];
}

const char *profile_unit(enum metric metric)
{
    return metric_is_time(metric) ? "nanoseconds" : metric == METRIC_SAMPLES ? "count" : "bytes";
}

const char *profile_period_type(enum metric metric)
{
    return metric_is_time(metric) ? "cpu" : metric == METRIC_SAMPLES ? "events" : "space";
}

uint64_t profile_duration(const struct profile_writer *w)
{
    return profile_lacks(w->table->profile, UNKNOWN_TIME) ? 0 : w->table->profile->duration_ns;
}

bool profile_has_thread(const struct profile_writer *w, const struct stack_row *row)
{
    const struct profile *p = w->table->profile;
    return !w->limits && row->thread < p->threads.count && !profile_lacks(p, UNKNOWN_THREADS);
}

uint64_t profile_period(const struct profile_writer *w)
{
    return metric_is_time(w->table->columns[0].metric) ? w->table->profile->sampling.cpu_period_ns
                                                       : 1;
}

void profile_stack(struct profile_writer *w, const struct stack_row *row, struct strbuf *list)
{
    bool cut = locations_list(&w->locations, row->call, w->limits ? w->limits->max_depth : 0, list);
    if (cut)
        w->limits->cut++;
}

static int compress(const struct strbuf *message, struct strbuf *out, struct err *err)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
    if (!c)
        return err_set(err, -ENOMEM, "there is no memory to compress the profile");
    strbuf_reserve(out, libdeflate_gzip_compress_bound(c, message->size));
    out->size += libdeflate_gzip_compress(c, message->data, message->size, out->data + out->size,
                                          out->capacity - out->size);
    libdeflate_free_compressor(c);
    return 0;
}

static void put_rows(struct profile_writer *w, profile_put *put, const struct stack_row *rows,
                     size_t count)
{
    strbuf_release(&w->message);
    locations_release(&w->locations);
    locations_init(&w->locations, w->table);
    put(w, rows, count);
}

/* Writes fewer and fewer rows until the message fits. The last row stands for what was left out. */
static void put_within(struct profile_writer *w, profile_put *put)
{
    const struct stack_table *table = w->table;
    struct profile_limits *l = w->limits;
    struct ranked_rows all;
    stack_table_rank(table, &all);
    size_t keep = all.count <= l->max_samples ? all.count : l->max_samples - 1;
    for (;;) {
        struct stack_row *rows = xcalloc(keep + 1, sizeof *rows);
        if (keep)
            memcpy(rows, all.items, keep * sizeof *rows);
        size_t count = keep + (keep < all.count);
        for (size_t i = keep; i < all.count; i++)
            stack_table_join(table, &rows[keep], &all.items[i]);
        l->samples = count;
        l->pruned = all.count - keep;
        l->other = rows[keep].values[table->column_count - 1];
        l->cut = 0;
        put_rows(w, put, rows, count);
        free(rows);
        if (w->message.size <= l->max_bytes || !keep)
            break;
        /* Assumes that all rows have the same size, and drops at least a tenth. */
        size_t fits = (size_t)((double)keep * (double)l->max_bytes / (double)w->message.size);
        keep = fits < keep - keep / 10 ? fits : keep - keep / 10 - (keep < 10);
    }
    vec_release(&all);
}

/* An unknown count is not written: it would be read as 0. */
static bool counts_are_known(const struct stack_table *t)
{
    bool known = true;
    for (size_t i = 0; i < t->column_count; i++)
        known &= known_counts(t->profile, t->columns[i].metric);
    return known;
}

/* All columns have the same unit, on which period and period type rely: either the two are bytes of
 * the heap, or there is only one. */
int profile_write(struct export *e, profile_put *put, struct err *err)
{
    struct stack_column columns[] = {{METRIC_TOTAL, e->query->size}, {METRIC_LIVE, e->query->size}};
    const struct stack_column one = {e->query->metric, e->query->size};
    struct stack_table table;
    size_t count = e->metric_given ? 1 : export_known_columns(e, columns, 2);
    int code = stack_table_init(&table, e->recording, e->query, e->metric_given ? &one : columns,
                                count, err);
    if (code)
        return code;
    struct profile_writer w = {.export = e, .table = &table, .limits = e->limits};
    w.counts = counts_are_known(&table);
    if (e->limits) {
        const struct window *window = &table.windows[table.column_count - 1];
        uint64_t start = table.profile->start_unix_ns;
        e->limits->from_unix_ns = start ? start + window->since.time_ns : 0;
        e->limits->until_unix_ns = start ? start + window->at.time_ns : 0;
        put_within(&w, put);
    } else {
        put_rows(&w, put, table.rows.items, table.rows.count);
    }
    code = compress(&w.message, e->out, err);
    strbuf_release(&w.message);
    locations_release(&w.locations);
    stack_table_release(&table);
    return code;
}
