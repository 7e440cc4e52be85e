#include "answer/next_command.h"
#include "base/say.h"
#include "answer/peaks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/function_name.h"
#include "answer/json_parts.h"
#include "answer/location.h"
#include "answer/summary.h"
#include "base/units.h"

#define NAME_LEAST 20

/* "main.py:44:run", in `most` columns if the name can be that short; without a known line, the
 * library instead of the file. For Python the bare name, which all versions know. */
static void put_place(const struct peaks *p, uint32_t call, size_t most, struct strbuf *out)
{
    size_t start = out->size;
    const struct frame_table *t = &p->places.total.frames;
    const struct call_frame *f = places_frame(&p->places, call);
    location_put(out, location_file(t, f), f->line,
                 f->module ? frame_table_string(t, f->module) : "?");
    struct name_part bare = name_bare(frame_table_string(t, f->name));
    char *name = xstrndup(bare.text, bare.size);
    const char *dot = f->flags & CALL_PYTHON ? strrchr(name, '.') : NULL;
    strbuf_putc(out, ':');
    size_t used = unit_columns(out->data + start);
    location_name(out, dot && dot[1] ? dot + 1 : name,
                  most > used + NAME_LEAST ? most - used : NAME_LEAST);
    free(name);
}

void peak_legend(const struct peaks *p, const struct peak *k, size_t most, struct strbuf *out)
{
    size_t start = out->size;
    char tail[32];
    int size = snprintf(tail, sizeof tail, "=>%" PRId64, k->bytes);
    say(out, "%d: %s>", k->number, peak_line_name(p, k));
    size_t used = unit_columns(out->data + start) + (size_t)size;
    if (k->stack_count && peak_is_explained(k))
        put_place(p, k->stacks[0].call, most > used ? most - used : 0, out);
    else
        strbuf_puts(out, "(not known)");
    strbuf_puts(out, tail);
}

static void put_path(const struct peaks *p, uint32_t call, size_t width, struct strbuf *out)
{
    const struct call_tree *t = &p->places.total.tree;
    size_t used = 0;
    for (uint32_t c = call; c; c = t->parent.items[c]) {
        struct strbuf step = {0};
        strbuf_puts(&step, c == call ? "" : " < ");
        put_place(p, c, width > 4 ? width - 4 : 0, &step);
        size_t columns = unit_columns(step.data);
        bool fits = !used || used + columns + 4 <= width;
        strbuf_puts(out, fits ? step.data : " ...");
        used += columns;
        strbuf_release(&step);
        if (!fits)
            return;
    }
}

static void add_peak(const struct peaks *p, const struct peak *k, const struct style *s,
                     struct strbuf *out)
{
    strbuf_printf(out, "\n%s", style_bold(s));
    peak_legend(p, k, s->width, out);
    say(out, "%r\n    %B at %T\n", style_plain(s), k->bytes, k->time_ns);
    if (!peak_is_listed(k) && !k->inside)
        say(out,
            "    the stacks at the peak itself are not known; these are of %T, when %B were live\n",
            p->lines.time_ns[k->listed], k->listed_bytes);
    for (size_t i = 0; i < k->stack_count; i++) {
        size_t start = out->size;
        say(out, "    %r%B", k->at_least ? "at least " : "", k->stacks[i].bytes);
        if (k->stacks[i].blocks >= 0)
            say(out, " in %N block(s)", k->stacks[i].blocks);
        strbuf_puts(out, ": ");
        size_t used = out->size - start;
        put_path(p, k->stacks[i].call, s->width > used ? s->width - used : 0, out);
        strbuf_putc(out, '\n');
    }
}

static const struct peak *highest(const struct peaks *p)
{
    const struct peak *best = p->list.items;
    for (size_t i = 1; i < p->list.count; i++)
        if (p->list.items[i].bytes > best->bytes)
            best = &p->list.items[i];
    return best;
}

static bool add_text(const void *answer, const struct style *s, struct strbuf *out)
{
    const struct peaks_listing *l = answer;
    const struct peaks *p = l->peaks;
    summary_choice(p->places.total.recording, p->lines.profile, s, out);
    summary_heading(p->lines.profile, s, out);
    say(out, "%N peak(s)%r\n", p->list.count + p->left_out,
        p->left_out ? ", the highest are shown; --top 0 shows all" : "");
    summary_arenas(p->lines.profile, out);
    for (size_t i = 0; i < p->list.count; i++)
        add_peak(p, &p->list.items[i], s, out);
    if (p->list.count) {
        strbuf_printf(out, "\n%snext: tidemark tree ", style_faint(s));
        next_file(out, l->file);
        next_option(out, "--process", p->places.query.process);
        say(out, "%r --peak %d%r\n", l->options, highest(p)->number, style_plain(s));
    }
    return false;
}

/* --- JSON and CSV ----------------------------------------------------------------------------- */

static const struct peaks *peaks_of(struct spot s)
{
    return ((const struct peaks_listing *)s.answer)->peaks;
}

static struct cell get_thread(struct spot s)
{
    return CELL_OF(peak_line_name(peaks_of(s), s.row));
}

static struct cell get_thread_alone(struct spot s)
{
    return ((const struct peak *)s.row)->line == THREADS_PROCESS ? CELL_NOT_KNOWN : get_thread(s);
}

static struct cell get_trough_time(struct spot s)
{
    return CELL_OF(peaks_of(s)->lines.time_ns[((const struct peak *)s.row)->trough]);
}

static struct cell get_listed_time(struct spot s)
{
    const struct peak *k = s.row;
    bool then = peak_is_listed(k) || k->inside;
    return CELL_OF(then ? k->time_ns : peaks_of(s)->lines.time_ns[k->listed]);
}

static struct cell get_place(struct spot s)
{
    const struct peak *k = s.row;
    if (!k->stack_count || !peak_is_explained(k))
        return CELL_NOT_KNOWN;
    put_place(peaks_of(s), k->stacks[0].call, SIZE_MAX, s.made);
    return CELL_OF(s.made->data);
}

static struct cell get_legend(struct spot s)
{
    peak_legend(peaks_of(s), s.row, SIZE_MAX, s.made);
    return CELL_OF(s.made->data);
}

static void json_peak_stacks(struct spot s, const char *key, struct json *j)
{
    const struct peaks_listing *l = s.answer;
    const struct call_tree *tree = &l->peaks->places.total.tree;
    const struct peak *k = s.row;
    json_array(j, key);
    for (size_t i = 0; i < k->stack_count; i++) {
        json_object(j, NULL);
        json_i64(j, "bytes", k->stacks[i].bytes);
        if (k->stacks[i].blocks >= 0)
            json_i64(j, "count", k->stacks[i].blocks);
        else
            json_null(j, "count");
        json_frames(j, l->stacks, tree->parent.items, tree->frame.items, k->stacks[i].call);
        json_end(j);
    }
    json_end(j);
}

#define PEAK(member) FIELD(struct peak, member)

static const struct column_def columns[] = {
    {"number", NULL, COLUMN_COUNT, PEAK(number)},
    {"thread", NULL, COLUMN_TITLE, .get = get_thread, .json_if = COLUMN_NEVER},
    {"thread", NULL, COLUMN_TITLE, .get = get_thread_alone, .csv_if = COLUMN_NEVER},
    {"time_ns", NULL, COLUMN_TIME, PEAK(time_ns)},
    {"since_ns", NULL, COLUMN_TIME, .get = get_trough_time, .csv_if = COLUMN_NEVER},
    {"bytes", NULL, COLUMN_BYTES, PEAK(bytes)},
    {"place", NULL, COLUMN_PATH, .get = get_place, .json_if = COLUMN_NEVER},
    {"listed_bytes", NULL, COLUMN_BYTES, PEAK(listed_bytes)},
    {"listed_ns", NULL, COLUMN_TIME, .get = get_listed_time},
    {"legend", NULL, COLUMN_WORDS, .get = get_legend, .csv_if = COLUMN_NEVER},
    {"at_least", NULL, COLUMN_WORD, PEAK(at_least)},
    {"stacks", NULL, COLUMN_WORDS, .json = json_peak_stacks},
};

static void add_json(const void *answer, struct json *j)
{
    const struct peaks *p = ((const struct peaks_listing *)answer)->peaks;
    json_program(j, p->places.total.recording, p->lines.profile);
}

struct document peaks_document(const struct peaks_listing *l)
{
    return (struct document){.schema = "tidemark.peaks/1",
                             .key = "peaks",
                             .rows = {COLUMN_DEFS(columns), ITEMS(l->peaks->list), .answer = l,
                                      .cut = l->peaks->left_out, .noun = "peak"},
                             .text = add_text,
                             .json = add_json};
}
