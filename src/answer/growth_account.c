#include "answer/growth_account.h"

#include <math.h>
#include <string.h>

#include "base/say.h"
#include "answer/place_columns.h"
#include "answer/text_table.h"
#include "base/units.h"
#include "answer/wrap.h"

static const struct {
    const char *key, *title;
} parts[FOOTPRINT_PARTS] = {
    [PART_LIVE] = {"live_bytes", "live blocks"},
    [PART_ROUNDING] = {"rounding_bytes", "rounding and headers of blocks"},
    [PART_HELD] = {"held_bytes", "free, on pages with live blocks"},
    [PART_FREE] = {"free_bytes", "whole free pages of the allocator"},
    [PART_MAPPED] = {"mapped_bytes", "mapped by the program"},
    [PART_STACKS] = {"stacks_bytes", "stacks"},
    [PART_TEXT] = {"text_bytes", "code and constants"},
    [PART_DATA] = {"data_bytes", "data of program and libraries"},
    [PART_FILES] = {"files_bytes", "other files"},
    [PART_SHARED] = {"shared_bytes", "shared memory"},
    [PART_KERNEL] = {"kernel_bytes", "kernel"},
    [PART_RECORDER] = {"recorder_bytes", "tidemark's own"},
    [PART_UNKNOWN] = {"unknown_bytes", "not explained"},
    [PART_ARENAS] = {"python_arenas_bytes", "Python's arenas for small objects"},
};

/* Finds the mark shortly before a moment, with its number; false: none. */
static bool mark_before(const struct profile *p, const struct footprint *f, struct strbuf *out,
                        uint64_t *time_ns)
{
    const struct mark *last = NULL;
    size_t number = 0;
    for (size_t i = 0; i < p->marks.count && p->marks.items[i].stamp.time_ns <= f->time_ns; i++)
        last = &p->marks.items[i];
    for (size_t i = 0; last && &p->marks.items[i] <= last; i++)
        number += p->marks.items[i].label == last->label;
    if (!last)
        return false;
    *time_ns = last->stamp.time_ns;
    say(out, "%r#%d", last->name, number);
    return true;
}

#define LABEL_SHOWN                                                                                \
    14 /* columns of a mark in a title: the table is 100 columns wide with two of them */

static void moment_name(const struct profile *p, const struct footprint *f, struct strbuf *out)
{
    struct strbuf mark = {0};
    uint64_t time_ns;
    if (f->kind == FOOTPRINT_EXIT) {
        strbuf_puts(out, "at the end");
    } else if (f->kind == FOOTPRINT_MARK && mark_before(p, f, &mark, &time_ns)) {
        struct strbuf clean = {0};
        say(&clean, "%s", mark.data);
        /* By then the program may be in the middle of what follows the mark. */
        unit_time(out, f->time_ns - time_ns);
        strbuf_puts(out, " after ");
        table_path(out, clean.data, LABEL_SHOWN);
        strbuf_release(&clean);
    } else {
        say(out, "at %T", f->time_ns);
    }
    strbuf_release(&mark);
}

/* --- text ------------------------------------------------------------------------------------- */

/* A part of resident memory at the first moment and at the last. */
struct part {
    const char *title;
    int64_t then, now;
};

struct account {
    const struct footprint *first, *last;
    struct strbuf first_name, last_name; /* titles */
};

/* If a moment does not exist, nothing is shown. */
static struct cell get_then(struct spot s)
{
    const struct part *p = s.row;
    const struct account *a = s.answer;
    return !a->first          ? CELL_OF("")
           : s.column->number ? CELL_OF(wrapped_less(p->now, p->then))
                              : CELL_OF(p->then);
}

static struct cell get_share(struct spot s)
{
    double rss = (double)((const struct account *)s.answer)->last->rss_bytes;
    return rss > 0 ? CELL_OF((double)((const struct part *)s.row)->now / rss) : CELL_NOT_KNOWN;
}

static const char *title_of_first(const void *answer)
{
    return ((const struct account *)answer)->first_name.data;
}

static const char *title_of_last(const void *answer)
{
    return ((const struct account *)answer)->last_name.data;
}

static const char *title_of_gain(const void *answer)
{
    return ((const struct account *)answer)->first ? "gained" : "";
}

static const struct column_def part_columns[] = {
    {NULL, "resident memory", COLUMN_WORD, FIELD(struct part, title)},
    {NULL, NULL, COLUMN_BYTES, .get = get_then, .title_of = title_of_first},
    {NULL, NULL, COLUMN_BYTES, FIELD(struct part, now), .title_of = title_of_last},
    {NULL, NULL, COLUMN_BYTES, .get = get_then, .number = 1, .title_of = title_of_gain},
    {NULL, "%", COLUMN_PERCENT, .get = get_share},
};

static int64_t shown(const struct footprint *f, int part)
{
    return !f ? 0 : part == PART_UNKNOWN ? footprint_rest(f) : (int64_t)f->parts[part];
}

static void add_table(const struct growth *g, const struct style *s, struct strbuf *out)
{
    struct account a = {g->account.first, g->account.last, {0}, {0}};
    const struct profile *p = g->places.total.profile;
    struct part parts_shown[FOOTPRINT_PARTS];
    size_t count = 0;
    strbuf_puts(&a.first_name, "");
    if (a.first)
        moment_name(p, a.first, &a.first_name);
    moment_name(p, a.last, &a.last_name);
    for (int k = 0; k < FOOTPRINT_PARTS; k++) {
        /* The unexplained part comes last. */
        int i = k < PART_UNKNOWN ? k : PART_UNKNOWN + PART_ARENAS - k;
        struct part part = {parts[i].title, shown(a.first, i), shown(a.last, i)};
        if (part.then || part.now || i == PART_UNKNOWN || i <= PART_FREE)
            parts_shown[count++] = part;
    }
    struct part rss = {"RSS", a.first ? (int64_t)a.first->rss_bytes : 0,
                       (int64_t)a.last->rss_bytes};
    struct rows rows = {COLUMN_DEFS(part_columns),
                        .items = parts_shown,
                        .item_size = sizeof *parts_shown,
                        .count = count,
                        .answer = &a,
                        .totals = &rss};
    rows_text(&rows, s, out);
    strbuf_release(&a.first_name);
    strbuf_release(&a.last_name);
}

static void add_notes(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    if ((a->first && !a->first->exact) || !a->last->exact)
        wrap_text("",
                  "the program kept running during these readings, except at its end: what it "
                  "allocated meanwhile counts as free",
                  s->width, out);
    if (a->last->partial)
        wrap_text("", "some live blocks were not recorded; they count as free", s->width, out);
    strbuf_putc(out, '\n');
}

struct pins {
    struct placed_rows rows;
    const struct places *places;
};

static struct placed where(const void *answer, const void *row)
{
    uint32_t call = ((const struct growth_pin *)row)->call;
    return (struct placed){((const struct pins *)answer)->places, call, call};
}

static const struct column_def pin_columns[] = {
    {NULL, "keeps free", COLUMN_BYTES, FIELD(struct growth_pin, pinned_bytes)},
    {NULL, "blocks there", COLUMN_BYTES, FIELD(struct growth_pin, bytes)},
    {"function", "function whose blocks keep pages", COLUMN_NAME, .get = placed_function},
    {NULL, "where", COLUMN_PATH, .get = placed_path},
    {"pinned_bytes", NULL, COLUMN_BYTES, FIELD(struct growth_pin, pinned_bytes)},
    {"bytes", NULL, COLUMN_BYTES, FIELD(struct growth_pin, bytes)},
    PLACED_STACK,
};

static struct rows pins_of(const struct growth *g, const struct pins *answer, size_t most)
{
    struct rows rows = {COLUMN_DEFS(pin_columns), ITEMS(g->account.pins), .answer = answer};
    rows.count = rows.count < most ? rows.count : most;
    return rows;
}

void growth_account_text(const struct growth *g, size_t most, const struct style *s,
                         struct strbuf *out)
{
    if (!g->account.last)
        return;
    add_table(g, s, out);
    add_notes(g, s, out);
    if (growth_pins_matter(g)) {
        const struct pins answer = {{where}, &g->places};
        struct rows rows = pins_of(g, &answer, most);
        rows_text(&rows, s, out);
        strbuf_putc(out, '\n');
    }
}

/* --- sentences -------------------------------------------------------------------------------- */

void growth_kept_words(const struct growth *g, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    say(out, "at the last reading, the allocator keeps %B of whole free pages",
        growth_account_part(a, PART_FREE));
    if (a->last->arenas > 1) {
        say(out, " in %N arena(s)", a->last->arenas);
    }
    say(out, " and %B that are free on pages with live blocks", growth_account_part(a, PART_HELD));
    double freed = growth_freed_since(g);
    if (freed > 0 && freed < 0x1p63) { /* a damaged file may contain any number */
        say(out, "; %B of blocks were freed since the last %r", freed, g->mark ? "mark" : "stamp");
    }
    if (a->last->trim_bytes) {
        say(out,
            "; malloc_trim(0) would release about %B, and never more than the whole free pages",
            a->last->trim_bytes);
    }
}

bool growth_pinned_words(const struct growth *g, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    if (!a->last || !a->pins.count)
        return false;
    const struct growth_pin *pin = &a->pins.items[0];
    say(out, "blocks of %s, %B of them, keep %B of free memory on their pages",
        placed_name(&(struct placed){&g->places, pin->call, 0}), pin->bytes, pin->pinned_bytes);
    return true;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_footprint(struct json *j, const struct profile *p, const struct footprint *f)
{
    static const char *const kinds[] = {"periodic", "mark", "snapshot", "exit"};
    struct strbuf mark = {0};
    uint64_t mark_ns = 0;
    json_object(j, NULL);
    json_string(j, "kind", kinds[f->kind % FOOTPRINT_KINDS]);
    json_u64(j, "time_ns", f->time_ns);
    bool marked = mark_before(p, f, &mark, &mark_ns);
    json_string(j, "mark", marked ? mark.data : NULL);
    if (marked)
        json_u64(j, "after_mark_ns", f->time_ns - mark_ns);
    json_bool(j, "exact", f->exact);
    json_bool(j, "partial", f->partial);
    json_u64(j, "rss_bytes", f->rss_bytes);
    json_u64(j, "moved_bytes", f->moved_bytes);
    json_u64(j, "heap_bytes", f->live_bytes);
    for (int i = 0; i < FOOTPRINT_PARTS; i++)
        json_u64(j, parts[i].key, f->parts[i]);
    json_u64(j, "unexplained_bytes", footprint_unexplained(f));
    json_u64(j, "trim_bytes", f->trim_bytes);
    json_u64(j, "arenas", f->arenas);
    json_end(j);
    strbuf_release(&mark);
}

void growth_account_json(struct json *j, const struct growth *g, size_t most)
{
    const struct answer *a = &g->places.total;
    json_object(j, "account");
    json_double(j, "rss", g->rates.rss);
    json_double(j, "error", isfinite(g->rates.error) ? g->rates.error : 0);
    for (int i = 0; i < GROWTH_PARTS; i++)
        json_double(j, growth_part_name((enum growth_part)i), g->rates.parts[i]);
    json_end(j);
    json_array(j, "footprints");
    for (size_t i = 0; i < a->profile->footprints.count; i++)
        json_footprint(j, a->profile, &a->profile->footprints.items[i]);
    json_end(j);
    const struct pins answer = {{where}, &g->places};
    struct rows rows = pins_of(g, &answer, most);
    rows_json(&rows, "pinned", NULL, j);
}
