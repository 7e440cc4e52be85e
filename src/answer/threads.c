#include "answer/threads.h"

#include <inttypes.h>

#include "base/say.h"
#include "answer/csv.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "answer/table.h"
#include "answer/units.h"

static double seconds_of(const struct threads *t, const struct timeline_line *l)
{
    const struct thread *thread = &t->profile->threads.items[l->thread];
    uint64_t start = thread->start_ns, end = thread->end_ns ? thread->end_ns : t->window.at.time_ns;
    if (start < t->window.since.time_ns)
        start = t->window.since.time_ns;
    if (end > t->window.at.time_ns)
        end = t->window.at.time_ns;
    return end > start ? (double)(end - start) / 1e9 : 0;
}

/* Allocations in a second of its life. */
static double rate_of(const struct threads *t, const struct timeline_line *l)
{
    double seconds = seconds_of(t, l);
    return seconds > 0 ? (double)l->allocations / seconds : 0;
}

static bool frees_others(const struct threads *t)
{
    for (size_t i = 0; i < t->lines.count; i++)
        if (t->lines.items[i].foreign_blocks)
            return true;
    return false;
}

static void add_line(struct table *table, const struct threads *t, const struct timeline_line *l,
                     bool foreign)
{
    unit_text(table_cell(table), l->name);
    unit_bytes(table_cell(table), l->highest_bytes);
    unit_bytes(table_cell(table), l->at_peak_bytes);
    unit_percent(table_cell(table), (double)l->at_peak_bytes, (double)t->profile->peak_bytes);
    unit_bytes(table_cell(table), l->live_bytes);
    unit_bytes(table_cell(table), l->allocated_bytes);
    unit_count(table_cell(table), l->allocations);
    unit_count(table_cell(table), (int64_t)rate_of(t, l));
    if (foreign)
        unit_bytes(table_cell(table), l->foreign_bytes);
    unit_time(table_cell(table), t->profile->threads.items[l->thread].start_ns);
}

static void add_others(struct strbuf *out, const struct threads *t, size_t shown)
{
    int64_t live = 0, allocated = 0;
    for (size_t i = shown; i < t->lines.count; i++) {
        live = wrapped(live, t->lines.items[i].live_bytes);
        allocated = wrapped(allocated, t->lines.items[i].allocated_bytes);
    }
    say(out, "... %N more thread(s) with %B allocated, %B live; --top 0 shows all\n",
        t->lines.count - shown, allocated, live);
}

void threads_text(const struct threads *t, size_t top, const struct style *s, struct strbuf *out)
{
    static const char *const titles[] = {"highest",   "at peak", "%",      "live",
                                         "allocated", "calls",   "calls/s"};
    bool foreign = frees_others(t);
    struct table table;
    size_t shown = t->lines.count < top ? t->lines.count : top;
    strbuf_puts(out, style_bold(s));
    summary_command(t->profile, s->width > 60 ? s->width - 20 : 40, out);
    say(out,
        "%r, pid %d\n%N thread(s); peak of the process %B. A block counts for the thread that "
        "allocated it%r.\n\n",
        style_plain(s), t->profile->pid, t->lines.count, t->profile->peak_bytes,
        foreign ? ";\n'of others' is what a thread freed that another had allocated" : "");
    size_t before = out->size;
    summary_arenas(t->profile, out);
    strbuf_puts(out, out->size > before ? "\n" : "");
    table_init(&table);
    table_column(&table, "thread", CELL_TITLE);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_column(&table, titles[i], CELL_RIGHT);
    if (foreign)
        table_column(&table, "of others", CELL_RIGHT);
    table_column(&table, "began", CELL_RIGHT);
    table_spare(&table, "began");
    table_spare(&table, "calls/s");
    table_spare(&table, "calls");
    for (size_t i = 0; i < shown; i++)
        add_line(&table, t, &t->lines.items[i], foreign);
    table_print(&table, s, out);
    table_release(&table);
    if (shown < t->lines.count)
        add_others(out, t, shown);
}

static void json_series(struct json *j, const char *key, const int64_t *values, size_t count)
{
    json_array(j, key);
    for (size_t i = 0; i < count; i++)
        json_i64(j, NULL, values[i]);
    json_end(j);
}

void threads_json(const struct recording *r, const struct threads *t, struct strbuf *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.threads/1");
    json_program(&j, r, t->profile);
    json_u64(&j, "peak_bytes", t->profile->peak_bytes);
    json_array(&j, "moments_ns");
    for (size_t i = 0; i < t->moments; i++)
        json_u64(&j, NULL, t->time_ns[i]);
    json_end(&j);
    json_series(&j, "process", t->process, t->moments);
    json_array(&j, "threads");
    for (size_t i = 0; i < t->lines.count; i++) {
        const struct timeline_line *l = &t->lines.items[i];
        const struct thread *thread = &t->profile->threads.items[l->thread];
        json_object(&j, NULL);
        json_string(&j, "name", thread->name);
        json_string(&j, "label", l->name);
        json_u64(&j, "tid", thread->tid);
        json_u64(&j, "start_ns", thread->start_ns);
        if (thread->end_ns)
            json_u64(&j, "end_ns", thread->end_ns);
        else
            json_null(&j, "end_ns");
        json_i64(&j, "live_bytes", l->live_bytes);
        json_i64(&j, "live_blocks", l->live_blocks);
        json_i64(&j, "allocations", l->allocations);
        json_i64(&j, "frees", (int64_t)((uint64_t)l->allocations - (uint64_t)l->live_blocks));
        json_i64(&j, "bytes_allocated", l->allocated_bytes);
        json_i64(&j, "peak_bytes", l->highest_bytes);
        json_u64(&j, "peak_time_ns", l->highest_ns);
        json_i64(&j, "allocated_bytes", l->allocated_bytes);
        json_i64(&j, "freed_bytes", l->freed_bytes);
        json_i64(&j, "freed_of_others_bytes", l->foreign_bytes);
        json_i64(&j, "freed_of_others_blocks", l->foreign_blocks);
        json_double(&j, "allocations_per_second", rate_of(t, l));
        json_i64(&j, "at_peak_bytes", l->at_peak_bytes);
        json_double(
            &j, "peak_share",
            t->profile->peak_bytes ? (double)l->at_peak_bytes / (double)t->profile->peak_bytes : 0);
        json_i64(&j, "highest_bytes", l->highest_bytes);
        json_u64(&j, "highest_ns", l->highest_ns);
        json_series(&j, "live", l->live, t->moments);
        json_series(&j, "allocated", l->allocated, t->moments);
        json_series(&j, "freed_of_others", l->foreign, t->moments);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
}

void threads_csv(const struct threads *t, struct strbuf *out)
{
    strbuf_puts(out,
                "thread,tid,start_ns,end_ns,live_bytes,live_blocks,allocations,allocated_bytes,"
                "freed_bytes,at_peak_bytes,highest_bytes,highest_ns,freed_of_others_bytes,"
                "freed_of_others_blocks\n");
    for (size_t i = 0; i < t->lines.count; i++) {
        const struct timeline_line *l = &t->lines.items[i];
        const struct thread *thread = &t->profile->threads.items[l->thread];
        csv_text(out, l->name);
        strbuf_printf(out, ",%" PRIu32 ",%" PRIu64 ",%" PRIu64, thread->tid, thread->start_ns,
                      thread->end_ns);
        const int64_t numbers[] = {l->live_bytes,      l->live_blocks, l->allocations,
                                   l->allocated_bytes, l->freed_bytes, l->at_peak_bytes,
                                   l->highest_bytes};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            strbuf_printf(out, ",%" PRId64, numbers[k]);
        strbuf_printf(out, ",%" PRIu64 ",%" PRId64 ",%" PRId64 "\n", l->highest_ns,
                      l->foreign_bytes, l->foreign_blocks);
    }
}
