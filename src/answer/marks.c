#include "answer/marks.h"

#include <inttypes.h>

#include "base/say.h"
#include "model/mark_scopes.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "base/units.h"
#include "answer/wrap.h"

/* --- columns ---------------------------------------------------------------------------------- */

static struct cell get_mark(struct spot s)
{
    const struct mark_row *r = s.row;
    if (r->index)
        say(s.made, "%s#%d", r->label, r->index);
    return CELL_OF(s.made->data);
}

static struct cell get_faults(struct spot s)
{
    const struct mark_row *r = s.row;
    return CELL_OF(r->stamp->minor_faults + r->stamp->major_faults);
}

static bool held_known(const void *row)
{
    return stamp_held_known(((const struct mark_row *)row)->stamp);
}

static bool free_known(const void *row)
{
    return stamp_free_known(((const struct mark_row *)row)->stamp);
}

static struct cell get_allocator(struct spot s)
{
    static const char *const names[] = {[STAMP_GLIBC] = "glibc",
                                        [STAMP_JEMALLOC] = "jemalloc",
                                        [STAMP_TCMALLOC] = "tcmalloc",
                                        [STAMP_MIMALLOC] = "mimalloc"};
    return CELL_OF(names[((const struct mark_row *)s.row)->stamp->allocator]);
}

static const char *key_of(const struct mark_rows *m, const struct mark_value *v)
{
    return strpool_get(&m->recording->strings, v->key);
}

static struct cell put_values(struct spot s, const char *between, int digits)
{
    const struct mark_rows *m = s.answer;
    const struct mark_row *r = s.row;
    for (size_t i = 0; i < r->count; i++) {
        const struct mark_value *v = &m->values[r->first + i];
        strbuf_printf(s.made, "%s%s=%.*g", i ? between : "", key_of(m, v), digits, v->value);
    }
    return CELL_OF(s.made->data);
}

static struct cell get_values(struct spot s)
{
    return put_values(s, ";", 17);
}

static struct cell get_shown_values(struct spot s)
{
    return put_values(s, " ", 10);
}

static void json_values(struct spot s, const char *key, struct json *j)
{
    const struct mark_rows *m = s.answer;
    const struct mark_row *r = s.row;
    json_object(j, key);
    for (size_t i = 0; i < r->count; i++)
        json_double(j, key_of(m, &m->values[r->first + i]), m->values[r->first + i].value);
    json_end(j);
}

/* Other tools know resident memory at most. */
enum { STAMP_VM, STAMP_ANON, STAMP_FAULTS };

static struct cell get_if_known(struct spot s)
{
    const struct stamp *stamp = ((const struct mark_row *)s.row)->stamp;
    if (((const struct mark_rows *)s.answer)->profile->imported.from)
        return CELL_NOT_KNOWN;
    return s.column->number == STAMP_FAULTS ? get_faults(s)
           : s.column->number == STAMP_VM   ? CELL_OF(stamp->vm_bytes)
                                            : CELL_OF(stamp->anon_bytes);
}

#define STAMP(member) FIELD_OF(struct mark_row, stamp, struct stamp, member)

/* Columns that say least about growth are dropped first. */
static const struct column_def columns[] = {
    {NULL, "mark", COLUMN_PATH, .get = get_mark},
    {"label", NULL, COLUMN_WORD, FIELD(struct mark_row, label)},
    {"index", NULL, COLUMN_COUNT, FIELD(struct mark_row, index)},
    {"time_ns", "time", COLUMN_TIME, STAMP(time_ns)},
    {"vm_bytes", "VM", COLUMN_BYTES, .get = get_if_known, .number = STAMP_VM},
    {"rss_bytes", "RSS", COLUMN_BYTES, STAMP(rss_bytes)},
    {"anon_bytes", "anon", COLUMN_BYTES, .get = get_if_known, .number = STAMP_ANON, .spare = 5},
    {"faults", "faults", COLUMN_COUNT, .get = get_if_known, .number = STAMP_FAULTS, .spare = 3},
    {"live_bytes", "live", COLUMN_BYTES, STAMP(live_bytes)},
    {"live_blocks", "blocks", COLUMN_COUNT, STAMP(live_blocks), .spare = 6},
    {"allocations", "allocations", COLUMN_COUNT, STAMP(allocations), .spare = 4},
    {"allocator_held_bytes", "held", COLUMN_BYTES, STAMP(held_bytes), .known = held_known,
     .if_any = true, .spare = 2},
    {"allocator_free_bytes", "free", COLUMN_BYTES, STAMP(free_bytes), .known = free_known,
     .if_any = true, .spare = 1},
    {"allocator", NULL, COLUMN_WORD, .get = get_allocator, .known = held_known},
    {"values", NULL, COLUMN_WORDS, .get = get_values, .json = json_values},
    {NULL, "values", COLUMN_WORDS, .get = get_shown_values, .if_any = true},
};

/* --- text ------------------------------------------------------------------------------------- */

/* Names the processes that have marks, if the chosen one has none. */
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

static bool add_heading(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct mark_rows *m = answer;
    summary_processes(m->recording, m->profile, s, out);
    summary_heading(m->profile, s, out);
    size_t start = out->size;
    if (m->marks) {
        struct strbuf labels = {0};
        unit_counted(out, (int64_t)m->marks, "mark");
        if (m->marks == m->profile->marks.count) {
            mark_labels(m->profile, &labels);
            say(out, ": %s", labels.data);
            strbuf_release(&labels);
        }
        if (mark_scopes_exist(m->profile))
            strbuf_puts(out, "; --scopes adds up the changes between NAME and NAME.end");
    } else {
        strbuf_puts(out,
                    "no marks; tide_mark(\"LABEL\"), run --mark-on FUNCTION or 'tidemark ctl PID "
                    "mark LABEL' make them");
        add_others(m, out);
    }
    wrap_since(out, start, 2, s->width);
    strbuf_puts(out, "\n\n");
    return true;
}

static void add_program(const void *answer, struct json *j)
{
    const struct mark_rows *m = answer;
    json_program(j, m->recording, m->profile);
}

struct document marks_document(const struct mark_rows *m)
{
    return (struct document){.schema = "tidemark.marks/1",
                             .key = "marks",
                             .rows = {COLUMN_DEFS(columns), ITEMS(m->rows), .answer = m},
                             .text = add_heading,
                             .json = add_program};
}
