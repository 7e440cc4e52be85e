#include "report/marks.h"

#include <inttypes.h>

#include "base/json.h"
#include "model/mark_scopes.h"
#include "report/csv.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/units.h"
#include "report/wrap.h"

static const char *key_of(const struct mark_rows *m, const struct mark_value *v)
{
    return strpool_get(&m->recording->strings, v->key);
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_values(const struct mark_rows *m, const struct mark_row *row, struct strbuf *cell)
{
    for (size_t i = 0; i < row->count; i++) {
        const struct mark_value *v = &m->values[row->first + i];
        strbuf_puts(cell, i ? " " : "");
        unit_text(cell, key_of(m, v));
        strbuf_printf(cell, "=%.10g", v->value);
    }
}

/* Who has marks, where the process that was asked for has none. */
static void add_others(const struct mark_rows *m, struct strbuf *out)
{
    for (size_t i = 0; i < m->recording->profiles.count; i++) {
        const struct profile *p = &m->recording->profiles.items[i];
        if (p->marks.count) {
            strbuf_printf(out, "; process %" PRIu32 " has some: --process %" PRIu32, p->pid,
                          p->pid);
            return;
        }
    }
}

static void add_heading(const struct mark_rows *m, const struct style *s, struct strbuf *out)
{
    strbuf_puts(out, style_bold(s));
    summary_command(m->profile, s->width > 60 ? s->width - 20 : 40, out);
    strbuf_printf(out, "%s, pid %" PRIu32 "\n", style_plain(s), m->profile->pid);
    size_t start = out->size;
    if (m->marks) {
        struct strbuf labels = {0};
        unit_counted(out, (int64_t)m->marks, "mark");
        if (m->marks == m->profile->marks.count) {
            mark_labels(m->profile, &labels);
            strbuf_puts(out, ": ");
            unit_text(out, labels.data);
            strbuf_release(&labels);
        }
        if (mark_scopes_exist(m->profile))
            strbuf_puts(out, "; --scopes adds up what lay between NAME and NAME.end");
    } else {
        strbuf_puts(out,
                    "no marks; tide_mark(\"LABEL\"), run --mark-on FUNCTION or 'tidemark ctl PID "
                    "mark LABEL' make them");
        add_others(m, out);
    }
    wrap_since(out, start, 2, s->width);
    strbuf_puts(out, "\n\n");
}

/* Which columns there are beside those of every table. */
struct columns {
    bool held, free, values;
};

static struct columns columns_of(const struct mark_rows *m)
{
    struct columns c = {.values = m->profile->mark_values.count};
    for (size_t i = 0; i < m->rows.count; i++) {
        c.held |= stamp_held_known(m->rows.items[i].stamp);
        c.free |= stamp_free_known(m->rows.items[i].stamp);
    }
    return c;
}

static void add_known(bool known, uint64_t bytes, struct strbuf *cell)
{
    if (known)
        unit_bytes(cell, (int64_t)bytes);
    else
        strbuf_putc(cell, '-');
}

static void add_row(const struct mark_rows *m, const struct mark_row *row, const struct columns *c,
                    struct table *t)
{
    const struct stamp *s = row->stamp;
    struct strbuf *cell = table_cell(t);
    if (row->index) {
        unit_text(cell, row->label);
        strbuf_printf(cell, "#%zu", row->index);
    }
    unit_time(table_cell(t), s->time_ns);
    unit_bytes(table_cell(t), (int64_t)s->vm_bytes);
    unit_bytes(table_cell(t), (int64_t)s->rss_bytes);
    unit_bytes(table_cell(t), (int64_t)s->anon_bytes);
    unit_count(table_cell(t), (int64_t)(s->minor_faults + s->major_faults));
    unit_bytes(table_cell(t), (int64_t)s->live_bytes);
    unit_count(table_cell(t), (int64_t)s->live_blocks);
    unit_count(table_cell(t), (int64_t)s->allocations);
    if (c->held)
        add_known(stamp_held_known(s), s->held_bytes, table_cell(t));
    if (c->free)
        add_known(stamp_free_known(s), s->free_bytes, table_cell(t));
    if (c->values)
        add_values(m, row, table_cell(t));
}

void marks_text(const struct mark_rows *m, const struct style *s, struct strbuf *out)
{
    static const char *const numbers[] = {"time",   "VM",   "RSS",    "anon",
                                          "faults", "live", "blocks", "allocations"};
    struct table t;
    struct columns c = columns_of(m);
    table_init(&t);
    /* The first go first: what says least of growth. */
    static const char *const spare[] = {"free", "held", "faults", "allocations", "anon", "blocks"};
    table_column(&t, "mark", CELL_PATH);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        table_column(&t, numbers[i], CELL_RIGHT);
    if (c.held)
        table_column(&t, "held", CELL_RIGHT);
    if (c.free)
        table_column(&t, "free", CELL_RIGHT);
    if (c.values)
        table_column(&t, "values", CELL_WORDS);
    for (size_t i = 0; i < sizeof spare / sizeof *spare; i++)
        table_spare(&t, spare[i]);
    for (size_t i = 0; i < m->rows.count; i++)
        add_row(m, &m->rows.items[i], &c, &t);
    summary_processes(m->recording, m->profile, s, out);
    add_heading(m, s, out);
    table_print(&t, s, out);
    table_release(&t);
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

/* NULL: none told anything. */
static const char *allocator_of(const struct stamp *s)
{
    static const char *const names[] = {[STAMP_GLIBC] = "glibc",
                                        [STAMP_JEMALLOC] = "jemalloc",
                                        [STAMP_TCMALLOC] = "tcmalloc",
                                        [STAMP_MIMALLOC] = "mimalloc"};
    return stamp_held_known(s) ? names[s->allocator] : NULL;
}

static void json_known(struct json *j, const char *key, bool known, uint64_t bytes)
{
    if (known)
        json_u64(j, key, bytes);
    else
        json_null(j, key);
}

void marks_json(const struct mark_rows *m, const struct report_sink *sink, struct strbuf *out)
{
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.marks/1");
    json_array(&j, "marks");
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mark_row *row = &m->rows.items[i];
        const struct stamp *s = row->stamp;
        json_object(&j, NULL);
        json_string(&j, "label", row->label);
        json_u64(&j, "index", row->index);
        json_u64(&j, "time_ns", s->time_ns);
        json_u64(&j, "vm_bytes", s->vm_bytes);
        json_u64(&j, "rss_bytes", s->rss_bytes);
        json_u64(&j, "anon_bytes", s->anon_bytes);
        json_u64(&j, "faults", s->minor_faults + s->major_faults);
        json_u64(&j, "live_bytes", s->live_bytes);
        json_u64(&j, "live_blocks", s->live_blocks);
        json_u64(&j, "allocations", s->allocations);
        json_known(&j, "allocator_held_bytes", stamp_held_known(s), s->held_bytes);
        json_known(&j, "allocator_free_bytes", stamp_free_known(s), s->free_bytes);
        if (allocator_of(s))
            json_string(&j, "allocator", allocator_of(s));
        else
            json_null(&j, "allocator");
        json_object(&j, "values");
        for (size_t k = 0; k < row->count; k++) {
            const struct mark_value *v = &m->values[row->first + k];
            json_double(&j, key_of(m, v), v->value);
        }
        json_end(&j);
        json_end(&j);
        report_flush(sink, out);
    }
    json_end(&j);
    json_end(&j);
}

void marks_csv(const struct mark_rows *m, const struct report_sink *sink, struct strbuf *out)
{
    struct strbuf values = {0};
    strbuf_puts(out, "label,index,time_ns,vm_bytes,rss_bytes,anon_bytes,faults,live_bytes,"
                     "live_blocks,allocations,allocator_held_bytes,allocator_free_bytes,allocator,"
                     "values\n");
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mark_row *row = &m->rows.items[i];
        const struct stamp *s = row->stamp;
        csv_text(out, row->label);
        strbuf_printf(out,
                      ",%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                      ",%" PRIu64 ",%" PRIu64 ",",
                      row->index, s->time_ns, s->vm_bytes, s->rss_bytes, s->anon_bytes,
                      s->minor_faults + s->major_faults, s->live_bytes, s->live_blocks,
                      s->allocations);
        if (stamp_held_known(s))
            strbuf_printf(out, "%" PRIu64, s->held_bytes);
        strbuf_putc(out, ',');
        if (stamp_free_known(s))
            strbuf_printf(out, "%" PRIu64, s->free_bytes);
        strbuf_printf(out, ",%s,", allocator_of(s) ? allocator_of(s) : "");
        strbuf_clear(&values);
        for (size_t k = 0; k < row->count; k++) {
            const struct mark_value *v = &m->values[row->first + k];
            strbuf_printf(&values, "%s%s=%.17g", k ? ";" : "", key_of(m, v), v->value);
        }
        csv_text(out, row->count ? values.data : "");
        strbuf_putc(out, '\n');
        report_flush(sink, out);
    }
    strbuf_release(&values);
}
