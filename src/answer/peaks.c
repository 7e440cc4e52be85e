#include "answer/next.h"
#include "base/say.h"
#include "answer/peaks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/name.h"
#include "answer/csv.h"
#include "answer/json_parts.h"
#include "answer/summary.h"
#include "answer/units.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#define NAME_LEAST 20

/* "main.py:44:run", in `most` columns if the name can be that short; without a known line the
 * library stands for the file. Of Python the bare name, which all versions know. */
static void put_place(const struct peaks *p, uint32_t call, size_t most, struct strbuf *out)
{
    size_t start = out->size;
    const struct frame_table *t = &p->places.total.frames;
    const struct call_frame *f = places_frame(&p->places, call);
    if (f->file) {
        unit_text(out, base_name(frame_table_string(t, f->file)));
        if (f->line)
            strbuf_printf(out, ":%u", (unsigned)f->line);
    } else {
        unit_text(out, f->module ? frame_table_string(t, f->module) : "?");
    }
    struct name_part bare = name_bare(frame_table_string(t, f->name));
    char *name = xstrndup(bare.text, bare.size);
    const char *dot = f->flags & CALL_PYTHON ? strrchr(name, '.') : NULL;
    strbuf_putc(out, ':');
    struct strbuf clean = {0};
    say(&clean, "%s", dot && dot[1] ? dot + 1 : name);
    size_t used = unit_columns(out->data + start);
    name_shorten(out, clean.data, most > used + NAME_LEAST ? most - used : NAME_LEAST);
    strbuf_release(&clean);
    free(name);
}

void peak_legend(const struct peaks *p, const struct peak *k, size_t most, struct strbuf *out)
{
    size_t start = out->size;
    char tail[32];
    int size = snprintf(tail, sizeof tail, "=>%" PRId64, k->bytes);
    say(out, "%d: %s>", k->number, peak_line_name(p, k));
    size_t used = unit_columns(out->data + start) + (size_t)size;
    if (k->stack_count)
        put_place(p, k->stacks[0].call, most > used ? most - used : 0, out);
    strbuf_puts(out, tail);
}

void peak_listed_words(const struct peaks *p, const struct peak *k, struct strbuf *out)
{
    if (peak_is_listed(k))
        return;
    say(out, "%B of %B are known by stack, at %T: the peak is inside an interval", k->listed_bytes,
        k->bytes, p->lines.time_ns[k->listed]);
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

static int by_bytes(const void *a, const void *b)
{
    const struct peak *x = *(const struct peak *const *)a, *y = *(const struct peak *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    const struct peak *x = *(const struct peak *const *)a, *y = *(const struct peak *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

void peaks_text(const struct peaks *p, const char *file, const char *options, size_t top,
                const struct style *s, struct strbuf *out)
{
    size_t n = p->list.count, shown = n < top ? n : top;
    const struct peak **order = xmalloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = &p->list.items[i];
    qsort(order, n, sizeof *order, by_bytes);
    qsort(order, shown, sizeof *order, by_number);
    summary_choice(p->places.total.recording, p->lines.profile, s, out);
    strbuf_puts(out, style_bold(s));
    summary_command(p->lines.profile, s->width > 60 ? s->width - 20 : 40, out);
    say(out, "%r, pid %d\n%N peak(s)%r", style_plain(s), p->lines.profile->pid, n,
        shown < n ? ", the highest are shown; --top 0 shows all\n" : "\n");
    summary_arenas(p->lines.profile, out);
    for (size_t i = 0; i < shown; i++) {
        const struct peak *k = order[i];
        strbuf_printf(out, "\n%s", style_bold(s));
        peak_legend(p, k, s->width, out);
        say(out, "%r\n    %B at %T\n", style_plain(s), k->bytes, p->lines.time_ns[k->moment]);
        if (!peak_is_listed(k)) {
            strbuf_puts(out, "    ");
            peak_listed_words(p, k, out);
            strbuf_puts(out, "\n");
        }
        for (size_t i2 = 0; i2 < k->stack_count; i2++) {
            size_t start = out->size;
            say(out, "    %B in %N block(s): ", k->stacks[i2].bytes, k->stacks[i2].blocks);
            size_t used = out->size - start;
            put_path(p, k->stacks[i2].call, s->width > used ? s->width - used : 0, out);
            strbuf_putc(out, '\n');
        }
    }
    if (n) {
        strbuf_printf(out, "\n%snext: tidemark tree ", style_faint(s));
        next_word(out, file);
        unit_process(out, p->places.query.process);
        strbuf_printf(out, "%s --peak N shows what led there%s\n", options, style_plain(s));
    }
    free(order);
}

void peaks_json(const struct recording *r, const struct peaks *p, struct strbuf *out)
{
    const struct answer *a = &p->places.total;
    struct json_stacks stacks = {.frames = &a->frames};
    struct strbuf legend = {0};
    struct json j;
    json_init(&j, out);
    json_object(&j, NULL);
    json_string(&j, "schema", "tidemark.peaks/1");
    json_program(&j, r, p->lines.profile);
    json_array(&j, "peaks");
    for (size_t i = 0; i < p->list.count; i++) {
        const struct peak *k = &p->list.items[i];
        json_object(&j, NULL);
        json_u64(&j, "number", k->number);
        json_string(&j, "thread", k->line == THREADS_PROCESS ? NULL : peak_line_name(p, k));
        json_u64(&j, "time_ns", p->lines.time_ns[k->moment]);
        json_u64(&j, "since_ns", p->lines.time_ns[k->trough]);
        json_i64(&j, "bytes", k->bytes);
        json_i64(&j, "listed_bytes", k->listed_bytes);
        json_u64(&j, "listed_ns", p->lines.time_ns[k->listed]);
        strbuf_clear(&legend);
        peak_legend(p, k, SIZE_MAX, &legend);
        json_string(&j, "legend", legend.data);
        json_array(&j, "stacks");
        for (size_t n = 0; n < k->stack_count; n++) {
            json_object(&j, NULL);
            json_i64(&j, "bytes", k->stacks[n].bytes);
            json_i64(&j, "count", k->stacks[n].blocks);
            json_frames(&j, &stacks, a->tree.parent.items, a->tree.frame.items, k->stacks[n].call);
            json_end(&j);
        }
        json_end(&j);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    strbuf_release(&legend);
    json_stacks_release(&stacks);
}

void peaks_csv(const struct peaks *p, struct strbuf *out)
{
    struct strbuf place = {0};
    strbuf_puts(out, "number,thread,time_ns,bytes,place,listed_bytes,listed_ns\n");
    for (size_t i = 0; i < p->list.count; i++) {
        const struct peak *k = &p->list.items[i];
        strbuf_printf(out, "%u,", k->number);
        csv_text(out, peak_line_name(p, k));
        strbuf_printf(out, ",%" PRIu64 ",%" PRId64 ",", p->lines.time_ns[k->moment], k->bytes);
        strbuf_clear(&place);
        strbuf_puts(&place, "");
        if (k->stack_count)
            put_place(p, k->stacks[0].call, SIZE_MAX, &place);
        csv_text(out, place.data);
        strbuf_printf(out, ",%" PRId64 ",%" PRIu64 "\n", k->listed_bytes,
                      p->lines.time_ns[k->listed]);
    }
    strbuf_release(&place);
}
