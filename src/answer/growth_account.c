#include "answer/growth_account.h"

#include <math.h>
#include <string.h>

#include "base/say.h"
#include "answer/json_parts.h"
#include "answer/table.h"
#include "answer/units.h"
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

/* The mark that a moment is soon after, with its number; false: none. */
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
    14 /* of a mark that is in a title: the table has 100 columns with two of them */

/* With at most so many columns of a mark's label. */
static void moment_name(const struct profile *p, const struct footprint *f, size_t most,
                        struct strbuf *out)
{
    struct strbuf mark = {0};
    uint64_t time_ns;
    if (f->kind == FOOTPRINT_EXIT) {
        strbuf_puts(out, "at the end");
    } else if (f->kind == FOOTPRINT_MARK && mark_before(p, f, &mark, &time_ns)) {
        struct strbuf clean = {0};
        say(&clean, "%s", mark.data);
        unit_time(out, f->time_ns - time_ns); /* it may be in the middle of what follows the mark */
        strbuf_puts(out, " after ");
        table_path(out, clean.data, most);
        strbuf_release(&clean);
    } else {
        say(out, "at %T", f->time_ns);
    }
    strbuf_release(&mark);
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_row(struct table *t, const char *title, const int64_t *first, int64_t last,
                    int64_t whole)
{
    strbuf_puts(table_cell(t), title);
    struct strbuf *cell = table_cell(t);
    if (first)
        unit_bytes(cell, *first);
    unit_bytes(table_cell(t), last);
    cell = table_cell(t);
    if (first)
        unit_bytes(cell, (int64_t)((uint64_t)last - (uint64_t)*first));
    unit_percent(table_cell(t), (double)last, (double)whole);
}

static int64_t shown(const struct footprint *f, int part)
{
    return part == PART_UNKNOWN ? footprint_rest(f) : (int64_t)f->parts[part];
}

static void add_table(const struct growth *g, const struct style *s, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    const struct profile *p = g->places.total.profile;
    struct strbuf first = {0}, last = {0};
    struct table t;
    if (a->first)
        moment_name(p, a->first, LABEL_SHOWN, &first);
    else
        strbuf_puts(&first, "");
    moment_name(p, a->last, LABEL_SHOWN, &last);
    table_init(&t);
    table_column(&t, "resident memory", CELL_LEFT);
    table_column(&t, first.data, CELL_RIGHT);
    table_column(&t, last.data, CELL_RIGHT);
    table_column(&t, a->first ? "gained" : "", CELL_RIGHT);
    table_column(&t, "%", CELL_RIGHT);
    int64_t whole = (int64_t)a->last->rss_bytes,
            before = a->first ? (int64_t)a->first->rss_bytes : 0;
    for (int k = 0; k < FOOTPRINT_PARTS; k++) {
        int i = k < PART_UNKNOWN ? k : PART_UNKNOWN + PART_ARENAS - k; /* the unexplained is last */
        int64_t then = a->first ? shown(a->first, i) : 0, now = shown(a->last, i);
        if (then || now || i == PART_UNKNOWN || i <= PART_FREE)
            add_row(&t, parts[i].title, a->first ? &then : NULL, now, whole);
    }
    add_row(&t, "RSS", a->first ? &before : NULL, whole, whole);
    table_print(&t, s, out);
    table_release(&t);
    strbuf_release(&first);
    strbuf_release(&last);
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

static void add_pins(const struct growth *g, size_t most, const struct style *s, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    const struct frame_table *frames = &g->places.total.frames;
    struct table t;
    table_init(&t);
    table_column(&t, "keeps free", CELL_RIGHT);
    table_column(&t, "blocks there", CELL_RIGHT);
    table_column(&t, "function whose blocks keep pages", CELL_NAME);
    table_column(&t, "place", CELL_PATH);
    for (size_t i = 0; i < a->pins.count && i < most; i++) {
        const struct growth_pin *pin = &a->pins.items[i];
        const struct call_frame *frame = places_frame(&g->places, pin->call);
        unit_bytes(table_cell(&t), pin->pinned_bytes);
        unit_bytes(table_cell(&t), pin->bytes);
        unit_text(table_cell(&t), frame_table_string(frames, frame->name));
        struct strbuf *place = table_cell(&t);
        if (frame->file) {
            unit_text(place, frame_table_string(frames, frame->file));
            if (frame->line)
                strbuf_printf(place, ":%u", frame->line);
        }
    }
    table_print(&t, s, out);
    table_release(&t);
    strbuf_putc(out, '\n');
}

void growth_account_text(const struct growth *g, size_t most, const struct style *s,
                         struct strbuf *out)
{
    if (!g->account.last)
        return;
    add_table(g, s, out);
    add_notes(g, s, out);
    if (growth_pins_matter(g))
        add_pins(g, most, s, out);
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
    double freed = growth_last(g, GROWTH_LIVE) - (double)a->last->live_bytes;
    if (freed > 0 && freed < 0x1p63) { /* a damaged file may say anything */
        say(out, "; %B of blocks were freed since the last mark", freed);
    }
    if (a->last->trim_bytes) {
        say(out, "; malloc_trim(0) would release about %B, at most %B", a->last->trim_bytes,
            growth_account_part(a, PART_FREE));
    }
}

bool growth_pinned_words(const struct growth *g, struct strbuf *out)
{
    const struct growth_account *a = &g->account;
    if (!a->last || !a->pins.count)
        return false;
    const struct growth_pin *pin = &a->pins.items[0];
    const struct call_frame *frame = places_frame(&g->places, pin->call);
    say(out, "blocks of %s, %B of them, keep %B of free memory on their pages",
        frame_table_string(&g->places.total.frames, frame->name), pin->bytes, pin->pinned_bytes);
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
    struct json_stacks stacks = {.frames = &a->frames};
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
    json_array(j, "pinned");
    for (size_t i = 0; i < g->account.pins.count && i < most; i++) {
        const struct growth_pin *pin = &g->account.pins.items[i];
        const struct call_frame *frame = places_frame(&g->places, pin->call);
        json_object(j, NULL);
        json_string(j, "function", frame_table_string(&a->frames, frame->name));
        json_i64(j, "pinned_bytes", pin->pinned_bytes);
        json_i64(j, "bytes", pin->bytes);
        json_frames(j, &stacks, a->tree.parent.items, a->tree.frame.items, pin->call);
        json_end(j);
    }
    json_end(j);
    json_stacks_release(&stacks);
}
