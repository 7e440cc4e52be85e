/*
 * firefox: the processed profile of the Firefox Profiler (profiler.firefox.com), format version 48.
 *
 * A thread has its allocations and frees over time with their stacks, or with --metric cpu its
 * samples. The process has its live heap and RSS as memory counters, and its marks. It loses counts
 * and build ids. Times are the ends of intervals: what happened in one interval is one entry for
 * each stack. Frees are entries with negative bytes, at the stack that allocated the blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"
#include "model/mark_rows.h"

#define FORMAT_VERSION 48
enum { CATEGORY_OTHER, CATEGORY_NATIVE, CATEGORY_PYTHON };

/* What a site did in an interval: at most one entry of allocations and one of frees; or a CPU
 * sample. */
struct event {
    uint32_t row, interval; /* in profile.rows */
    uint32_t node;
};

struct firefox {
    struct export *e;
    struct json j;
    const struct stack_table *table;
    size_t *first; /* by thread: index into events */
    VEC(struct event) events;
};

/* The tables of one thread, which has its own numbers for everything that it uses. */
struct tables {
    struct strpool strings;
    uint32_t *stack_of;   /* node -> number; CALL_NONE: not used */
    VEC(uint32_t) stacks; /* nodes */
    uint32_t *frame_of;   /* frame -> number */
    /* Frames; function of each frame; one frame of each function. */
    VEC(uint32_t) frames, func_of_frame, funcs;
    struct map func_index;
    VEC(uint32_t) modules; /* resources: numbers of strings */
    struct map module_index;
};

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* --- the tables of a thread ------------------------------------------------------------------- */

static uint32_t string_of(struct tables *t, const char *text)
{
    strpool_add(&t->strings, "");
    return strpool_add(&t->strings, text);
}

static void use_frame(struct tables *t, const struct frame_table *frames, uint32_t frame)
{
    struct stack_frame f = stack_frame_of(frames, frame);
    if (t->frame_of[frame] != CALL_NONE)
        return;
    uint64_t key = (uint64_t)string_of(t, f.name) << 32 | string_of(t, f.file);
    uint32_t *func = map_at(&t->func_index, key);
    if (*func == MAP_NONE) {
        *func = (uint32_t)t->funcs.count;
        *vec_push(&t->funcs) = frame;
        uint32_t *module = map_at(&t->module_index, string_of(t, f.module));
        if (*module == MAP_NONE && *f.module) {
            *module = (uint32_t)t->modules.count;
            *vec_push(&t->modules) = string_of(t, f.module);
        }
    }
    t->frame_of[frame] = (uint32_t)t->frames.count;
    *vec_push(&t->frames) = frame;
    *vec_push(&t->func_of_frame) = *map_at(&t->func_index, key);
}

/* Nodes are numbered in their own order, so that callers come first. */
static void tables_init(struct tables *t, const struct firefox *x, size_t thread)
{
    const struct merged *m = &x->table->merged;
    size_t nodes = m->parent.count, frames = x->table->frames.frames.count;
    *t = (struct tables){.stack_of = xmalloc(nodes * sizeof *t->stack_of),
                         .frame_of = xmalloc((frames + 1) * sizeof *t->frame_of)};
    for (size_t i = 0; i < nodes; i++)
        t->stack_of[i] = CALL_NONE;
    for (size_t i = 0; i < frames; i++)
        t->frame_of[i] = CALL_NONE;
    for (size_t i = x->first[thread]; i < x->first[thread + 1]; i++)
        for (uint32_t n = x->events.items[i].node; n && t->stack_of[n] == CALL_NONE;
             n = m->parent.items[n])
            t->stack_of[n] = 0;
    for (uint32_t n = 1; n < nodes; n++)
        if (t->stack_of[n] != CALL_NONE) {
            t->stack_of[n] = (uint32_t)t->stacks.count;
            *vec_push(&t->stacks) = n;
            use_frame(t, &x->table->frames, m->key.items[n]);
        }
}

static void tables_release(struct tables *t)
{
    strpool_release(&t->strings);
    free(t->stack_of);
    free(t->frame_of);
    vec_release(&t->stacks);
    vec_release(&t->frames);
    vec_release(&t->func_of_frame);
    vec_release(&t->funcs);
    vec_release(&t->modules);
    map_release(&t->func_index);
    map_release(&t->module_index);
}

/* Writes a column of `count` values, each by an expression with `i`. */
#define COLUMN(key, count, put)                                                                    \
    do {                                                                                           \
        json_array(j, key);                                                                        \
        for (size_t i = 0; i < (count); i++) {                                                     \
            put;                                                                                   \
            report_flush(x->e->sink, j->out);                                                      \
        }                                                                                          \
        json_end(j);                                                                               \
    } while (0)

static uint32_t category_of(const struct firefox *x, uint32_t frame)
{
    return stack_frame_of(&x->table->frames, frame).python ? CATEGORY_PYTHON : CATEGORY_NATIVE;
}

static void put_stacks(struct firefox *x, const struct tables *t)
{
    const struct merged *m = &x->table->merged;
    struct json *j = &x->j;
    size_t count = t->stacks.count;
    json_object(j, "stackTable");
    COLUMN("frame", count, json_u64(j, NULL, t->frame_of[m->key.items[t->stacks.items[i]]]));
    COLUMN("prefix", count, {
        uint32_t parent = m->parent.items[t->stacks.items[i]];
        json_i64_if(j, NULL, parent, parent ? t->stack_of[parent] : 0);
    });
    COLUMN("category", count, json_u64(j, NULL, category_of(x, m->key.items[t->stacks.items[i]])));
    COLUMN("subcategory", count, json_u64(j, NULL, 0));
    json_u64(j, "length", count);
    json_end(j);
}

static void put_frames(struct firefox *x, struct tables *t)
{
    const struct frame_table *frames = &x->table->frames;
    struct json *j = &x->j;
    size_t count = t->frames.count;
    json_object(j, "frameTable");
    COLUMN("address", count, json_i64(j, NULL, -1));
    COLUMN("inlineDepth", count, json_u64(j, NULL, 0));
    COLUMN("category", count, json_u64(j, NULL, category_of(x, t->frames.items[i])));
    COLUMN("subcategory", count, json_u64(j, NULL, 0));
    COLUMN("func", count, json_u64(j, NULL, t->func_of_frame.items[i]));
    COLUMN("nativeSymbol", count, json_null(j, NULL));
    COLUMN("innerWindowID", count, json_null(j, NULL));
    COLUMN("implementation", count, json_null(j, NULL));
    COLUMN("line", count, {
        uint32_t line = stack_frame_of(frames, t->frames.items[i]).line;
        json_i64_if(j, NULL, line, line);
    });
    COLUMN("column", count, json_null(j, NULL));
    json_u64(j, "length", count);
    json_end(j);
}

static void put_functions(struct firefox *x, struct tables *t)
{
    static const char *const symbols[] = {"libIndex", "address", "name", "functionSize"};
    const struct frame_table *frames = &x->table->frames;
    struct json *j = &x->j;
    size_t count = t->funcs.count, modules = t->modules.count;
    json_object(j, "funcTable");
    COLUMN("name", count,
           json_u64(j, NULL, string_of(t, stack_frame_of(frames, t->funcs.items[i]).name)));
    COLUMN("isJS", count, json_bool(j, NULL, false));
    COLUMN("relevantForJS", count, json_bool(j, NULL, false));
    COLUMN("resource", count, {
        const char *module = stack_frame_of(frames, t->funcs.items[i]).module;
        uint32_t resource = *module ? map_get(&t->module_index, string_of(t, module)) : MAP_NONE;
        json_i64(j, NULL, resource == MAP_NONE ? -1 : (int64_t)resource);
    });
    COLUMN("fileName", count, {
        const char *file = stack_frame_of(frames, t->funcs.items[i]).file;
        json_i64_if(j, NULL, *file, string_of(t, file));
    });
    COLUMN("lineNumber", count, json_null(j, NULL));
    COLUMN("columnNumber", count, json_null(j, NULL));
    json_u64(j, "length", count);
    json_end(j);
    json_object(j, "resourceTable");
    COLUMN("lib", modules, json_null(j, NULL));
    COLUMN("name", modules, json_u64(j, NULL, t->modules.items[i]));
    COLUMN("host", modules, json_null(j, NULL));
    COLUMN("type", modules, json_u64(j, NULL, 1)); /* a library */
    json_u64(j, "length", modules);
    json_end(j);
    json_object(j, "nativeSymbols");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        json_array(j, symbols[i]);
        json_end(j);
    }
    json_u64(j, "length", 0);
    json_end(j);
}

/* --- what happened ---------------------------------------------------------------------------- */

/* One entry for each event that has a value of this kind. */
struct entry {
    uint32_t domain; /* DOMAIN_CPU: samples; otherwise allocations and frees */
    uint64_t allocated, freed;
};

static struct entry entry_of(const struct firefox *x, const struct event *v)
{
    const struct row *row = &x->table->profile->rows.items[v->row];
    return (struct entry){x->table->profile->sites.items[row->site].domain, row->columns[COL_BYTES],
                          row->columns[COL_FREED]};
}

static bool is_cpu(const struct firefox *x, size_t event)
{
    return entry_of(x, &x->events.items[event]).domain == DOMAIN_CPU;
}

static double time_of(const struct firefox *x, size_t event)
{
    return ms_of(x->table->profile->intervals.items[x->events.items[event].interval].end_ns);
}

static void put_samples(struct firefox *x, const struct tables *t, size_t from, size_t to)
{
    const struct profile *p = x->table->profile;
    struct json *j = &x->j;
    size_t count = 0;
#define CPU_COLUMN(key, put)                                                                       \
    json_array(j, key);                                                                            \
    for (size_t i = from; i < to; i++)                                                             \
        if (is_cpu(x, i))                                                                          \
            put;                                                                                   \
    json_end(j)
    json_object(j, "samples");
    json_string(j, "weightType", "samples");
    CPU_COLUMN("weight",
               json_u64(j, NULL, p->rows.items[x->events.items[i].row].columns[COL_ALLOCS]));
    CPU_COLUMN("stack", json_u64(j, NULL, t->stack_of[x->events.items[i].node]));
    CPU_COLUMN("time", json_double(j, NULL, time_of(x, i)));
    CPU_COLUMN("eventDelay", json_null(j, NULL));
#undef CPU_COLUMN
    for (size_t i = from; i < to; i++)
        count += is_cpu(x, i);
    json_u64(j, "length", count);
    json_end(j);
}

static void put_allocations(struct firefox *x, const struct tables *t, size_t from, size_t to)
{
    struct json *j = &x->j;
    size_t count = 0;
#define HEAP_COLUMN(key, allocation, freeing)                                                      \
    json_array(j, key);                                                                            \
    for (size_t i = from; i < to; i++) {                                                           \
        const struct entry v = entry_of(x, &x->events.items[i]);                                   \
        if (v.domain != DOMAIN_CPU && v.allocated)                                                 \
            allocation;                                                                            \
        if (v.domain != DOMAIN_CPU && v.freed)                                                     \
            freeing;                                                                               \
        report_flush(x->e->sink, j->out);                                                          \
    }                                                                                              \
    json_end(j)
#define BOTH(key, put) HEAP_COLUMN(key, put, put)
    json_object(j, "nativeAllocations");
    BOTH("time", json_double(j, NULL, time_of(x, i)));
    HEAP_COLUMN("weight", json_u64(j, NULL, v.allocated), json_i64(j, NULL, (int64_t)-v.freed));
    json_string(j, "weightType", "bytes");
    BOTH("stack", json_u64(j, NULL, t->stack_of[x->events.items[i].node]));
#undef BOTH
#undef HEAP_COLUMN
    for (size_t i = from; i < to; i++) {
        const struct entry v = entry_of(x, &x->events.items[i]);
        count += v.domain == DOMAIN_CPU ? 0 : (v.allocated != 0) + (size_t)(v.freed != 0);
    }
    json_u64(j, "length", count);
    json_end(j);
}

/* A mark belongs to the thread that made it. */
static void put_marks(struct firefox *x, struct tables *t, size_t thread)
{
    const struct profile *p = x->table->profile;
    struct json *j = &x->j;
    struct mark_rows marks;
    VEC(const struct mark_row *) mine = {0};
    if (mark_rows_init(&marks, x->table->recording, p, NULL, false, NULL))
        return;
    for (size_t i = 0, k = 0; i < marks.rows.count && k < p->marks.count; i++, k++) {
        size_t by = p->marks.items[k].thread < p->threads.count ? p->marks.items[k].thread : 0;
        if (by == thread)
            *vec_push(&mine) = &marks.rows.items[i];
    }
    json_object(j, "markers");
    COLUMN("data", mine.count, {
        json_object(j, NULL);
        json_string(j, "type", "Mark");
        json_u64(j, "index", mine.items[i]->index);
        json_u64(j, "live_bytes", mine.items[i]->stamp->live_bytes);
        json_u64(j, "rss_bytes", mine.items[i]->stamp->rss_bytes);
        json_end(j);
    });
    COLUMN("name", mine.count, json_u64(j, NULL, string_of(t, mine.items[i]->label)));
    COLUMN("startTime", mine.count, json_double(j, NULL, ms_of(mine.items[i]->stamp->time_ns)));
    COLUMN("endTime", mine.count, json_null(j, NULL));
    COLUMN("phase", mine.count, json_u64(j, NULL, 0)); /* an instant */
    COLUMN("category", mine.count, json_u64(j, NULL, CATEGORY_OTHER));
    json_u64(j, "length", mine.count);
    json_end(j);
    vec_release(&mine);
    mark_rows_release(&marks);
}

/* --- the profile ------------------------------------------------------------------------------ */

static void put_thread(struct firefox *x, size_t thread)
{
    const struct profile *p = x->table->profile;
    const struct thread *info = thread < p->threads.count ? &p->threads.items[thread] : NULL;
    struct json *j = &x->j;
    struct tables t;
    char pid[16];
    tables_init(&t, x, thread);
    snprintf(pid, sizeof pid, "%" PRIu32, p->pid);
    json_object(j, NULL);
    json_string(j, "processType", "default");
    json_string(j, "processName", p->executable);
    json_u64(j, "processStartupTime", 0);
    json_null(j, "processShutdownTime");
    json_double(j, "registerTime", info ? ms_of(info->start_ns) : 0);
    json_null(j, "unregisterTime");
    json_array(j, "pausedRanges");
    json_end(j);
    json_string(j, "name", info && info->name ? info->name : "[unknown]");
    json_bool(j, "isMainThread", thread == 0);
    json_string(j, "pid", pid);
    json_u64(j, "tid", info ? info->tid : 0);
    put_samples(x, &t, x->first[thread], x->first[thread + 1]);
    put_allocations(x, &t, x->first[thread], x->first[thread + 1]);
    put_marks(x, &t, thread);
    put_stacks(x, &t);
    put_frames(x, &t);
    put_functions(x, &t);
    COLUMN("stringArray", t.strings.strings.count,
           json_string(j, NULL, t.strings.strings.items[i]));
    json_end(j);
    tables_release(&t);
}

static void put_meta(struct firefox *x)
{
    static const struct {
        const char *name, *color;
    } categories[] = {[CATEGORY_OTHER] = {"Other", "grey"},
                      [CATEGORY_NATIVE] = {"Native", "blue"},
                      [CATEGORY_PYTHON] = {"Python", "yellow"}};
    static const char *const fields[][3] = {{"index", "number", "integer"},
                                            {"live_bytes", "live heap", "bytes"},
                                            {"rss_bytes", "RSS", "bytes"}};
    const struct profile *p = x->table->profile;
    struct json *j = &x->j;
    struct strbuf command = {0};
    profile_command(p, &command);
    json_object(j, "meta");
    json_double(j, "interval", p->sampling.cpu_period_ns ? ms_of(p->sampling.cpu_period_ns) : 1);
    json_double(j, "startTime", ms_of(p->start_unix_ns));
    json_u64(j, "processType", 0);
    COLUMN("categories", sizeof categories / sizeof *categories, {
        json_object(j, NULL);
        json_string(j, "name", categories[i].name);
        json_string(j, "color", categories[i].color);
        json_array(j, "subcategories");
        json_string(j, NULL, "Other");
        json_end(j);
        json_end(j);
    });
    json_string(j, "product", command.data);
    json_string(j, "importedFrom", "tidemark " TIDEMARK_VERSION);
    json_u64(j, "stackwalk", 1);
    json_u64(j, "version", 29);
    json_u64(j, "preprocessedProfileVersion", FORMAT_VERSION);
    json_bool(j, "symbolicated", true);
    json_bool(j, "symbolicationNotSupported", true);
    json_bool(j, "debug", false);
    json_array(j, "markerSchema");
    json_object(j, NULL);
    json_string(j, "name", "Mark");
    json_array(j, "display");
    json_string(j, NULL, "marker-chart");
    json_string(j, NULL, "marker-table");
    json_string(j, NULL, "timeline-overview");
    json_end(j);
    COLUMN("data", sizeof fields / sizeof *fields, {
        json_object(j, NULL);
        json_string(j, "key", fields[i][0]);
        json_string(j, "label", fields[i][1]);
        json_string(j, "format", fields[i][2]);
        json_end(j);
    });
    json_end(j);
    json_end(j);
    json_end(j);
    strbuf_release(&command);
}

struct point {
    uint64_t time_ns, bytes;
};

/* A counter's values are changes since the sample before. */
static void put_counter(struct firefox *x, const char *name, const char *description,
                        const struct point *points, size_t count)
{
    struct json *j = &x->j;
    char pid[16];
    snprintf(pid, sizeof pid, "%" PRIu32, x->table->profile->pid);
    json_object(j, NULL);
    json_string(j, "name", name);
    json_string(j, "category", "Memory");
    json_string(j, "description", description);
    json_string(j, "pid", pid);
    json_u64(j, "mainThreadIndex", 0);
    json_object(j, "samples");
    COLUMN("time", count, json_double(j, NULL, ms_of(points[i].time_ns)));
    COLUMN("count", count,
           json_i64(j, NULL, (int64_t)(points[i].bytes - (i ? points[i - 1].bytes : 0))));
    json_u64(j, "length", count);
    json_end(j);
    json_end(j);
}

static void put_counters(struct firefox *x)
{
    const struct profile *p = x->table->profile;
    const struct window *w = &x->table->windows[0];
    size_t from = w->since.intervals, to = w->at.intervals;
    uint64_t *change = xcalloc(p->intervals.count + 1, sizeof *change);
    VEC(struct point) live = {0}, resident = {0};
    for (size_t i = 0; i < x->events.count; i++) {
        const struct entry v = entry_of(x, &x->events.items[i]);
        if (v.domain != DOMAIN_CPU)
            change[x->events.items[i].interval] += v.allocated - v.freed;
    }
    uint64_t start = from ? p->intervals.items[from - 1].end_ns : 0, bytes = 0;
    *vec_push(&live) = (struct point){start, 0};
    for (size_t i = from; i < to; i++)
        *vec_push(&live) = (struct point){p->intervals.items[i].end_ns, bytes += change[i]};
    uint64_t end = to ? p->intervals.items[to - 1].end_ns : 0;
    for (size_t i = 0; i < p->stamps.count; i++)
        if (p->stamps.items[i].time_ns >= start && p->stamps.items[i].time_ns <= end)
            *vec_push(&resident) =
                (struct point){p->stamps.items[i].time_ns, p->stamps.items[i].rss_bytes};
    json_array(&x->j, "counters");
    put_counter(x, "malloc", "live heap", live.items, live.count);
    if (resident.count)
        put_counter(x, "RSS", "resident memory", resident.items, resident.count);
    json_end(&x->j);
    vec_release(&live);
    vec_release(&resident);
    free(change);
}

/* Collects the rows of the log within the window, in order of thread. */
static void collect_events(struct firefox *x)
{
    const struct stack_table *t = x->table;
    const struct profile *p = t->profile;
    const struct window *w = &t->windows[0];
    size_t threads = p->threads.count + 1;
    uint32_t *node = xcalloc(p->sites.count + 1, sizeof *node);
    size_t *next = xcalloc(threads + 1, sizeof *next);
    x->first = xcalloc(threads + 1, sizeof *x->first);
    for (size_t i = 0; i < t->rows.count; i++)
        node[t->rows.items[i].site] = t->rows.items[i].node;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = w->since.intervals; i < w->at.intervals; i++) {
            const struct interval *iv = &p->intervals.items[i];
            for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
                uint32_t site = p->rows.items[r].site, thread = p->sites.items[site].thread;
                if (!node[site])
                    continue;
                thread = thread < p->threads.count ? thread : (uint32_t)p->threads.count;
                if (pass)
                    x->events.items[next[thread]++] =
                        (struct event){(uint32_t)r, (uint32_t)i, node[site]};
                else
                    x->first[thread + 1]++;
            }
        }
        for (size_t i = 0; !pass && i < threads; i++) {
            next[i] = x->first[i];
            x->first[i + 1] += x->first[i];
        }
        if (!pass) {
            vec_reserve(&x->events, x->first[threads] + 1);
            x->events.count = x->first[threads];
        }
    }
    free(node);
    free(next);
}

int export_firefox(struct export *e, struct err *err)
{
    enum metric metric = e->metric_given ? e->query->metric : METRIC_TOTAL;
    const struct stack_column column = {metric, SIZE_REQUESTED, .ever = true};
    struct stack_table table;
    if (metric != METRIC_TOTAL && metric != METRIC_LIVE && metric != METRIC_CPU)
        return err_set(err, -EINVAL,
                       "firefox holds allocations with their frees, or CPU samples: --metric is "
                       "live, total or cpu, not %s",
                       metric_name(metric));
    int code = stack_table_init(&table, e->recording, e->query, &column, 1, err);
    if (code)
        return code;
    if (table.windows[0].at.peak || table.windows[0].since.peak) {
        stack_table_release(&table);
        return err_set(err, -EINVAL,
                       "firefox holds what happened in whole intervals, and the peak is inside of "
                       "one: name another moment");
    }
    const struct profile *p = table.profile;
    struct firefox x = {.e = e, .table = &table};
    collect_events(&x);
    json_init(&x.j, e->out);
    json_object(&x.j, NULL);
    put_meta(&x);
    json_array(&x.j, "libs");
    json_end(&x.j);
    json_array(&x.j, "pages");
    json_end(&x.j);
    put_counters(&x);
    json_array(&x.j, "threads");
    for (size_t i = 0; i <= p->threads.count; i++)
        if (i < p->threads.count || x.first[i] < x.first[i + 1])
            put_thread(&x, i);
    json_end(&x.j);
    json_end(&x.j);
    strbuf_putc(e->out, '\n');
    vec_release(&x.events);
    free(x.first);
    stack_table_release(&table);
    return 0;
}
