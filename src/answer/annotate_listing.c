/*
 * Which lines, inlined lines and instructions `annotate` shows, in which order, and where it leaves
 * a gap. annotate_text.c and export/annotate_html.c show the result.
 */
#include <inttypes.h>
#include <string.h>

#include "base/say.h"
#include "model/sample_sums.h"
#include "base/path.h"
#include "answer/annotate.h"
#include "answer/location.h"
#include "answer/report.h"
#include "answer/metric_unit.h"

/* --- the rows and their order ----------------------------------------------------------------- */

struct lister {
    struct listing *out;
    const struct annotation *a;
    size_t context;
    /* Places with a value, or with code if that is shown; and the places above these. */
    bool *worth;
};

static struct listing_row *add(struct lister *l, enum listing_kind kind, uint32_t source)
{
    struct listing_row *row = vec_push(&l->out->rows);
    *row = (struct listing_row){
        .kind = kind, .source = source, .place = PLACE_NONE, .instruction = PLACE_NONE};
    return row;
}

static bool has_value(const struct annotated_place *p)
{
    return !value_is_zero(p->self) || !value_is_zero(p->total);
}

static bool has_text(const struct annotation *a)
{
    for (size_t i = 0; i < a->sources.count; i++)
        if (a->sources.items[i].text.path && a->sources.items[i].place_count)
            return true;
    return false;
}

static void mark_worth(struct lister *l)
{
    const struct annotation *a = l->a;
    l->worth = xcalloc(a->places.count + 1, sizeof *l->worth);
    for (size_t i = a->places.count; i-- > 0;) { /* a parent comes before its children */
        const struct annotated_place *p = &a->places.items[i];
        l->worth[i] |= has_value(p) || (l->out->code && p->code_count);
        if (p->parent != PLACE_NONE && l->worth[i])
            l->worth[p->parent] = true;
    }
}

static void add_code(struct lister *l, uint32_t place, uint32_t depth)
{
    const struct annotated_place *p = &l->a->places.items[place];
    for (size_t i = 0; i < p->code_count && l->out->code; i++) {
        struct listing_row *row = add(l, LISTING_CODE, p->source);
        row->instruction = l->a->code_order[p->first_code + i];
        row->depth = depth;
    }
}

/* Adds what is below a line. Not recursive: a damaged recording may nest without end. */
static void add_below(struct lister *l, uint32_t place)
{
    struct level {
        uint32_t place;
        size_t next;
    };
    const struct annotation *a = l->a;
    VEC(struct level) levels = {0};
    add_code(l, place, 0);
    *vec_push(&levels) = (struct level){place, 0};
    while (levels.count) {
        struct level *last = vec_last(&levels);
        const struct annotated_place *p = &a->places.items[last->place];
        if (last->next == p->inlined_count) {
            levels.count--;
            continue;
        }
        uint32_t inner = a->place_order[p->first_inlined + last->next++];
        if (!l->worth[inner])
            continue;
        struct listing_row *row = add(l, LISTING_INLINED, a->places.items[inner].source);
        row->line = a->places.items[inner].line;
        row->place = inner;
        row->depth = (uint32_t)levels.count;
        add_code(l, inner, (uint32_t)levels.count);
        *vec_push(&levels) = (struct level){inner, 0};
    }
    vec_release(&levels);
}

static void add_line(struct lister *l, uint32_t source, uint32_t line, uint32_t place)
{
    struct listing_row *row = add(l, LISTING_LINE, source);
    row->line = line;
    row->place = place != PLACE_NONE && l->worth[place] ? place : PLACE_NONE;
    if (row->place != PLACE_NONE)
        add_below(l, place);
}

/* Is the line close enough to one with a value to be shown? */
static bool is_near(const struct lister *l, uint32_t line, const uint32_t *lines, size_t count,
                    size_t *from)
{
    if (l->context == CONTEXT_ALL)
        return true;
    while (*from < count && lines[*from] + (uint64_t)l->context < line)
        (*from)++;
    return *from < count && (uint64_t)line + l->context >= lines[*from];
}

/* Lines without a value are shown only if the source is known. */
static void add_lines(struct lister *l, uint32_t number, const uint32_t *hot, size_t hot_count)
{
    const struct annotation *a = l->a;
    const struct annotated_source *s = &a->sources.items[number];
    const uint32_t *places = a->place_order + s->first_place, *end = places + s->place_count;
    uint32_t shown = 0;
    size_t from = 0;
    while (places < end && !a->places.items[*places].line) /* the line is not known */
        add_line(l, number, 0, *places++);
    for (uint64_t line = s->first; line <= s->last && line; line++) {
        uint32_t at = places < end ? a->places.items[*places].line : UINT32_MAX;
        if (!s->text.path)
            line = at;
        uint32_t place = line == at && places < end ? *places++ : PLACE_NONE;
        if (line > s->last || !is_near(l, (uint32_t)line, hot, hot_count, &from))
            continue;
        if (shown && shown + 1 < line && s->text.path)
            add(l, LISTING_GAP, number);
        add_line(l, number, (uint32_t)line, place);
        shown = (uint32_t)line;
    }
}

static void add_source(struct lister *l, uint32_t number)
{
    const struct annotation *a = l->a;
    const struct annotated_source *s = &a->sources.items[number];
    const uint32_t *places = a->place_order + s->first_place;
    VEC(uint32_t) hot = {0};
    for (size_t i = 0; i < s->place_count; i++)
        if (has_value(&a->places.items[places[i]]))
            *vec_push(&hot) = a->places.items[places[i]].line;
    if (hot.count) {
        add(l, LISTING_FILE, number);
        if (number)
            add_lines(l, number, hot.items, hot.count);
        for (size_t i = 0; i < s->place_count && !number; i++)
            add_line(l, number, a->places.items[places[i]].line, places[i]);
    }
    vec_release(&hot);
}

/* Adds instructions without a known line. */
static void add_unplaced(struct lister *l)
{
    const struct annotation *a = l->a;
    VEC(uint32_t) hot = {0};
    size_t from = 0, shown = 0;
    for (size_t i = 0; i < a->unplaced; i++)
        if (!value_is_zero(a->instructions.items[a->code_order[i]].total) ||
            !value_is_zero(a->instructions.items[a->code_order[i]].self))
            *vec_push(&hot) = (uint32_t)i;
    for (size_t i = 0; i < a->unplaced; i++) {
        if (!is_near(l, (uint32_t)i, hot.items, hot.count, &from))
            continue;
        if (!shown)
            add(l, LISTING_LOOSE, 0);
        else if (shown < i)
            add(l, LISTING_GAP, 0);
        add(l, LISTING_CODE, 0)->instruction = a->code_order[i];
        shown = i + 1;
    }
    vec_release(&hot);
}

void listing_build(struct listing *l, const struct annotation *a, bool code, size_t context)
{
    *l = (struct listing){.code = code || !has_text(a)};
    struct lister lister = {.out = l, .a = a, .context = context};
    vec_reserve(&l->rows, 1); /* so that there is a first row to point to */
    mark_worth(&lister);
    for (size_t i = 1; i <= a->sources.count; i++) /* what has no file comes last */
        add_source(&lister, (uint32_t)(i % a->sources.count));
    if (l->code)
        add_unplaced(&lister);
    free(lister.worth);
}

void listing_release(struct listing *l)
{
    vec_release(&l->rows);
}

/* --- the text of a row ------------------------------------------------------------------------ */

struct listing_value listing_value(const struct annotation *a, const struct listing_row *row)
{
    if (row->kind == LISTING_CODE) {
        const struct annotated_instruction *i = &a->instructions.items[row->instruction];
        return (struct listing_value){i->self, i->total};
    }
    if (row->place == PLACE_NONE)
        return (struct listing_value){{0}, {0}};
    return (struct listing_value){a->places.items[row->place].self,
                                  a->places.items[row->place].total};
}

/* Appends a line of source, with tabs as spaces. */
static void add_source_text(const struct annotation *a, uint32_t source, uint32_t line, bool trim,
                            struct strbuf *out)
{
    size_t size = 0, column = 0;
    const char *text = annotation_text(a, source, line, &size);
    struct strbuf plain = {0};
    while (trim && size && (*text == ' ' || *text == '\t'))
        text++, size--;
    for (size_t i = 0; i < size; i++) {
        do
            strbuf_putc(&plain, text[i] == '\t' ? ' ' : text[i] ? text[i] : '?');
        while (++column % 8 && text[i] == '\t');
    }
    if (plain.size)
        unit_text(out, plain.data);
    strbuf_release(&plain);
}

static void add_inlined(const struct annotation *a, const struct annotated_place *p,
                        struct strbuf *out)
{
    size_t size;
    strbuf_puts(out, "inlined ");
    location_name(out, strpool_get(&a->strings, p->function), 60);
    if (p->file)
        say(out, ", %s:%d", path_base(strpool_get(&a->strings, p->file)), p->line);
    if (p->source && annotation_text(a, p->source, p->line, &size)) {
        strbuf_puts(out, ": ");
        add_source_text(a, p->source, p->line, true, out);
    }
}

void listing_text(const struct annotation *a, const struct listing_row *row, struct strbuf *out)
{
    switch (row->kind) {
    case LISTING_FILE:
        if (row->source)
            unit_text(out, a->sources.items[row->source].text.path
                               ? a->sources.items[row->source].text.path
                               : strpool_get(&a->strings, a->sources.items[row->source].file));
        break;
    case LISTING_LINE:
        if (!row->line)
            strbuf_puts(out, "(line not known)");
        else if (row->source)
            add_source_text(a, row->source, row->line, false, out);
        break;
    case LISTING_INLINED:
        add_inlined(a, &a->places.items[row->place], out);
        break;
    case LISTING_CODE:
        unit_text(out, a->instructions.items[row->instruction].text);
        break;
    case LISTING_LOOSE:
        strbuf_puts(out, "instructions of no known line");
        break;
    case LISTING_GAP:
        strbuf_puts(out, "...");
    }
}

double annotate_share(const struct annotation *a, struct value v)
{
    uint64_t whole = amount_size(a->total.amount), part = amount_size(v.amount);
    if (!whole) { /* faults that made nothing resident have only a count */
        whole = amount_size(a->total.count);
        part = amount_size(v.count);
    }
    return whole ? (double)part / (double)whole : 0;
}

void annotate_heading(const struct annotation *a, struct strbuf *out)
{
    const struct answer *answer = &a->answer;
    enum metric m = a->query.metric;
    bool change = answer->window.since.intervals || answer->window.since.peak;
    strbuf_printf(out, "%s%s, in ", change && !metric_is_sampled(m) ? "change of " : "",
                  report_metric_title(m));
    location_name(out, a->name, 200);
    if (a->module)
        say(out, " of %s", a->module);
    strbuf_puts(out, ": ");
    unit_amount(out, m, a->total.amount);
    strbuf_puts(out, " (");
    unit_percent(out, (double)a->total.amount, (double)answer->tree.scale);
    strbuf_puts(out, " % of all), itself ");
    unit_amount(out, m, a->self.amount);
}

void annotate_hosts(const struct annotation *a, struct strbuf *out)
{
    size_t count = a->hosts.count, shown = count < 4 ? count : 4;
    if (!count)
        return;
    strbuf_puts(out, a->inlined ? "inlined into " : "also inlined into ");
    for (size_t i = 0; i < shown; i++) {
        strbuf_puts(out, !i ? "" : i + 1 < count ? ", " : " and ");
        location_name(out, strpool_get(&a->strings, a->hosts.items[i]), 60);
    }
    if (shown < count)
        say(out, " and %d more", count - shown);
}
