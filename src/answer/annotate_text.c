/*
 * `annotate` as text: the columns of the listing that annotate_listing.c makes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/say.h"
#include "answer/annotate.h"
#include "answer/report.h"
#include "answer/summary.h"
#include "answer/metric_unit.h"

enum { SELF, SELF_SHARE, TOTAL, TOTAL_SHARE, COUNT, WHERE, COLUMNS_BEFORE };

#define HOT  0.10 /* of the function: coloured */
#define WARM 0.01

struct cells {
    struct strbuf of[COLUMNS_BEFORE];
};

static void add_value(const struct annotation *a, struct value v, struct strbuf *amount,
                      struct strbuf *share)
{
    if (value_is_zero(v))
        return;
    unit_amount(amount, a->query.metric, v.amount);
    unit_percent(share, annotate_share(a, v), 1);
}

static void fill(struct cells *c, const struct annotation *a, const struct listing_row *row)
{
    struct listing_value v = listing_value(a, row);
    add_value(a, v.self, &c->of[SELF], &c->of[SELF_SHARE]);
    add_value(a, v.total, &c->of[TOTAL], &c->of[TOTAL_SHARE]);
    if (!value_is_zero(v.total))
        unit_count(&c->of[COUNT], v.total.count);
    if (row->kind == LISTING_CODE)
        strbuf_printf(&c->of[WHERE], "%" PRIx64, a->instructions.items[row->instruction].address);
    else if (row->kind == LISTING_LINE && row->line)
        strbuf_printf(&c->of[WHERE], "%u", (unsigned)row->line);
}

static void clear(struct cells *c)
{
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        strbuf_clear(&c->of[i]);
}

static void pad(struct strbuf *out, const struct cells *c, const size_t *widths)
{
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        strbuf_printf(out, "%*s%s", (int)widths[i], c->of[i].size ? c->of[i].data : "",
                      i + 1 < COLUMNS_BEFORE ? "  " : "");
}

static void fill_titles(struct cells *c, const struct annotation *a)
{
    const char *titles[COLUMNS_BEFORE] = {
        "self", "%", "total", "%", report_count_title(a->query.metric), "line"};
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        strbuf_puts(&c->of[i], titles[i]);
}

static void measure(size_t *widths, struct cells *c)
{
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        if (c->of[i].size > widths[i])
            widths[i] = c->of[i].size;
}

/* Appends text in at most `width` columns: on a terminal, source is cut off, not wrapped. */
static void add_cut(struct strbuf *out, const char *text, size_t width)
{
    size_t columns = 0, bytes = 0;
    while (text[bytes] && columns < width) {
        bytes++;
        while ((text[bytes] & 0xc0) == 0x80)
            bytes++;
        columns++;
    }
    while (bytes && text[bytes - 1] == ' ')
        bytes--;
    strbuf_add(out, text, bytes);
}

static const char *colour_of(const struct annotation *a, const struct listing_row *row,
                             const struct style *s)
{
    struct listing_value v = listing_value(a, row);
    double share = annotate_share(a, v.total), self = annotate_share(a, v.self);
    share = self > share ? self : share;
    return share >= HOT                ? style_hot(s)
           : share >= WARM             ? style_warn(s)
           : row->kind == LISTING_CODE ? style_faint(s)
           : row->kind == LISTING_GAP  ? style_faint(s)
                                       : "";
}

static void add_row(const struct annotation *a, const struct listing_row *row, const size_t *widths,
                    struct cells *cells, const struct style *s, struct strbuf *out)
{
    struct strbuf text = {0};
    const char *colour = colour_of(a, row, s);
    size_t indent = row->kind == LISTING_LINE ? 0 : 2 + 2 * (row->depth < 20 ? row->depth : 20);
    size_t before = indent + 2, room = SIZE_MAX;
    strbuf_puts(&text, "");
    listing_text(a, row, &text);
    if (row->kind == LISTING_FILE || row->kind == LISTING_LOOSE) {
        if (text.size)
            strbuf_printf(out, "%s%s%s\n", style_bold(s), text.data, style_plain(s));
        strbuf_release(&text);
        return;
    }
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        before += widths[i] + (i + 1 < COLUMNS_BEFORE ? 2 : 0);
    if (s->terminal)
        room = s->width > before + 20 ? s->width - before : 20;
    clear(cells);
    fill(cells, a, row);
    strbuf_puts(out, colour);
    size_t start = out->size;
    pad(out, cells, widths);
    strbuf_printf(out, "  %*s", (int)indent, "");
    add_cut(out, text.data, room);
    while (out->size > start && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
    strbuf_printf(out, "%s\n", *colour ? style_plain(s) : "");
    strbuf_release(&text);
}

static void add_notes(const struct annotation *a, const struct style *s, struct strbuf *out)
{
    for (size_t i = 0; i < a->notes.count; i++) {
        summary_label(out, s, "note");
        say(out, "%s\n", a->notes.items[i]);
    }
}

void annotate_text(const struct annotation *a, bool code, size_t context, const struct style *s,
                   struct strbuf *out)
{
    struct listing l;
    struct cells cells = {0};
    size_t widths[COLUMNS_BEFORE] = {0};
    summary_choice(a->answer.recording, a->answer.profile, s, out);
    summary_sampled(a->answer.profile, s, out);
    summary_text(&a->answer, s, out);
    add_notes(a, s, out);
    strbuf_printf(out, "\n%s", style_bold(s));
    annotate_heading(a, out);
    strbuf_printf(out, "%s\n", style_plain(s));
    size_t before = out->size;
    annotate_hosts(a, out);
    if (out->size > before)
        strbuf_putc(out, '\n');
    listing_build(&l, a, code, context);
    fill_titles(&cells, a);
    measure(widths, &cells);
    for (size_t i = 0; i < l.rows.count; i++) {
        clear(&cells);
        fill(&cells, a, &l.rows.items[i]);
        measure(widths, &cells);
    }
    clear(&cells);
    fill_titles(&cells, a);
    strbuf_printf(out, "\n%s", style_faint(s));
    pad(out, &cells, widths);
    strbuf_printf(out, "%s\n", style_plain(s));
    for (size_t i = 0; i < l.rows.count; i++)
        add_row(a, &l.rows.items[i], widths, &cells, s, out);
    for (size_t i = 0; i < COLUMNS_BEFORE; i++)
        strbuf_release(&cells.of[i]);
    listing_release(&l);
}
