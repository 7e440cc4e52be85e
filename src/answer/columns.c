#include "answer/columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/say.h"
#include "answer/csv.h"
#include "answer/tree_indent.h"
#include "answer/text_table.h"
#include "answer/metric_unit.h"

static const void *row_at(const struct rows *r, size_t i)
{
    return (const char *)r->items + i * r->item_size;
}

static const void *place_of(const struct column_def *c, const void *row)
{
    const void *base = row;
    if (c->through)
        memcpy(&base, (const char *)row + c->through - 1, sizeof base);
    return (const char *)base + c->offset;
}

static struct cell field_of(const struct column_def *c, const void *row)
{
    const void *field = place_of(c, row);
    bool wide = c->size == sizeof(uint64_t);
    switch (c->type) {
    case FIELD_NATURAL:
        return cell_natural(wide ? *(const uint64_t *)field : *(const uint32_t *)field);
    case FIELD_INTEGER:
        return cell_integer(wide ? *(const int64_t *)field : *(const int32_t *)field);
    case FIELD_REAL:
        return cell_real(*(const double *)field);
    case FIELD_FLAG:
        return cell_flag(*(const bool *)field);
    default:
        return cell_text(*(const char *const *)field);
    }
}

/* `made` holds the text until the next call. */
static struct cell cell_at(const struct rows *r, const struct column_def *c, const void *row,
                           struct strbuf *made)
{
    strbuf_clear(made);
    struct cell cell = c->known && !c->known(row) ? CELL_NOT_KNOWN
                       : c->type                  ? field_of(c, row)
                                                  : c->get((struct spot){r->answer, row, c, made});
    bool unknown = cell.type == CELL_TEXT ? !cell.text : c->zero_is_unknown && !cell.integer;
    return unknown ? CELL_NOT_KNOWN : cell;
}

static size_t shown_count(const struct rows *r)
{
    return r->top && r->top < r->count ? r->top : r->count;
}

static size_t left_out_count(const struct rows *r)
{
    return r->count - shown_count(r) + r->cut;
}

/* --- text ------------------------------------------------------------------------------------- */

static enum cell_kind layout_of(enum column_kind kind)
{
    return kind == COLUMN_WORD    ? CELL_LEFT
           : kind == COLUMN_NAME  ? CELL_NAME
           : kind == COLUMN_CALL  ? CELL_NAME
           : kind == COLUMN_PATH  ? CELL_PATH
           : kind == COLUMN_WORDS ? CELL_WORDS
           : kind == COLUMN_TITLE ? CELL_TITLE
                                  : CELL_RIGHT;
}

static bool has_something(const struct rows *r, const struct column_def *c)
{
    struct strbuf made = {0};
    bool something = false;
    for (size_t i = 0; i < r->count && !something; i++) {
        struct cell cell = cell_at(r, c, row_at(r, i), &made);
        something = cell.type == CELL_TEXT ? *cell.text : cell.type != CELL_UNKNOWN && cell.integer;
    }
    strbuf_release(&made);
    return something;
}

static const char *title_of(const struct rows *r, const struct column_def *c)
{
    return c->title_of ? c->title_of(r->answer) : c->title;
}

static bool is_all_of(const struct rows *r, unsigned set)
{
    return (r->is & set) == set;
}

static bool is_shown(const struct rows *r, const struct column_def *c)
{
    return (c->title || c->title_of) && is_all_of(r, c->text_if) &&
           (!c->in_text || c->in_text(r->answer)) && (!c->if_any || has_something(r, c));
}

/* Computes the indentation of each row; true: the tree is deep. */
static bool make_indents(const struct rows *r, size_t count, uint32_t *indents)
{
    for (size_t i = 0; i < count && r->depth; i++)
        memcpy(&indents[i], (const char *)row_at(r, i) + r->depth - 1, sizeof *indents);
    return indent_tree(indents, count);
}

static void put_cell(const struct rows *r, const struct column_def *c, const struct cell *cell,
                     struct strbuf *out)
{
    double real = cell->type == CELL_REAL      ? cell->real
                  : cell->type == CELL_NATURAL ? (double)cell->natural
                                               : (double)cell->integer;
    if (c->plus && cell->type != CELL_TEXT && cell->type != CELL_UNKNOWN && real > 0)
        strbuf_putc(out, '+');
    if (cell->type == CELL_UNKNOWN)
        strbuf_puts(out, layout_of(c->kind) == CELL_RIGHT ? "-" : "");
    else if (cell->type == CELL_TEXT)
        unit_text(out, cell->text);
    else if (cell->type == CELL_FLAG)
        strbuf_puts(out, cell->flag ? "yes" : "no");
    else if (c->blank && real == 0)
        return;
    else if (c->kind == COLUMN_BYTES && cell->type == CELL_REAL)
        say(out, "%B", real);
    else if (c->kind == COLUMN_BYTES)
        unit_bytes(out, cell->integer);
    else if (c->kind == COLUMN_AMOUNT)
        unit_amount(out, r->metric, cell->integer);
    else if (c->kind == COLUMN_TIME)
        unit_time(out, cell->natural);
    else if (c->kind == COLUMN_PERCENT)
        unit_percent(out, real, 1);
    else if (c->kind == COLUMN_REAL)
        strbuf_printf(out, "%.10g", real);
    else
        unit_count(out, cell->integer);
}

static void put_row(const struct rows *r, const void *row, const bool *shown, uint32_t indent,
                    struct strbuf *made, struct table *t)
{
    for (size_t i = 0; i < r->column_count; i++) {
        if (!shown[i])
            continue;
        struct cell cell = cell_at(r, &r->columns[i], row, made);
        struct strbuf *out = table_cell(t);
        if (r->columns[i].kind == COLUMN_CALL)
            strbuf_printf(out, "%*s", (int)indent, "");
        put_cell(r, &r->columns[i], &cell, out);
    }
}

void rows_text(const struct rows *r, const struct style *s, struct strbuf *out)
{
    struct table t;
    struct strbuf made = {0};
    bool *shown = xcalloc(r->column_count, sizeof *shown);
    size_t count = shown_count(r);
    uint32_t *indents = xcalloc(count + 1, sizeof *indents);
    struct rows tree = *r;
    tree.is |= make_indents(r, count, indents) ? COLUMN_DEEP : 0;
    r = &tree;
    table_init(&t);
    for (size_t i = 0; i < r->column_count; i++) {
        shown[i] = is_shown(r, &r->columns[i]);
        if (shown[i])
            table_column(&t, title_of(r, &r->columns[i]), layout_of(r->columns[i].kind));
    }
    for (int spare = 1; spare <= TABLE_COLUMNS; spare++)
        for (size_t i = 0; i < r->column_count; i++)
            if (shown[i] && r->columns[i].spare == spare)
                table_spare(&t, title_of(r, &r->columns[i]));
    for (size_t i = 0; i < count; i++)
        if (!r->in_text || r->in_text(r->answer, row_at(r, i)))
            put_row(r, row_at(r, i), shown, indents[i], &made, &t);
    if (r->totals)
        put_row(r, r->totals, shown, 0, &made, &t);
    table_print(&t, s, out);
    if (r->noun && left_out_count(r)) {
        say(out, "... %N more %r(s)", left_out_count(r), r->noun);
        if (r->left_out)
            r->left_out(r->answer, count, out);
        strbuf_puts(out, "; --top 0 shows all\n");
    }
    table_release(&t);
    strbuf_release(&made);
    free(indents);
    free(shown);
}

/* --- data ------------------------------------------------------------------------------------- */

static void json_cell(const struct cell *cell, const char *key, struct json *j)
{
    if (cell->type == CELL_INTEGER)
        json_i64(j, key, cell->integer);
    else if (cell->type == CELL_NATURAL)
        json_u64(j, key, cell->natural);
    else if (cell->type == CELL_REAL)
        json_double(j, key, cell->real);
    else if (cell->type == CELL_FLAG)
        json_bool(j, key, cell->flag);
    else
        json_string(j, key, cell->type == CELL_TEXT ? cell->text : NULL);
}

/* The same table, for a struct inside the row. */
static struct rows rows_within(const struct rows *r, const struct column_def *c)
{
    struct rows inner = *r;
    inner.columns = c->inner;
    inner.column_count = c->inner_count;
    return inner;
}

static void put_json(const struct rows *r, const void *row, struct strbuf *made, struct json *j)
{
    for (size_t i = 0; i < r->column_count; i++) {
        const struct column_def *c = &r->columns[i];
        if (!c->key || !is_all_of(r, c->json_if) || (c->in_json && !c->in_json(r->answer)))
            continue;
        if (c->json) {
            strbuf_clear(made);
            c->json((struct spot){r->answer, row, c, made}, c->key, j);
            continue;
        }
        if (c->inner && (!c->known || c->known(row))) {
            struct rows inner = rows_within(r, c);
            json_object(j, c->key);
            put_json(&inner, place_of(c, row), made, j);
            json_end(j);
            continue;
        }
        struct cell cell = c->inner ? CELL_NOT_KNOWN : cell_at(r, c, row, made);
        if (cell.type != CELL_UNKNOWN || !c->optional)
            json_cell(&cell, c->key, j);
    }
}

void row_json(const struct rows *r, const void *row, struct json *j)
{
    struct strbuf made = {0};
    put_json(r, row, &made, j);
    strbuf_release(&made);
}

void rows_json(const struct rows *r, const char *key, const struct report_sink *sink,
               struct json *j)
{
    struct strbuf made = {0};
    json_array(j, key);
    for (size_t i = 0; i < shown_count(r); i++) {
        json_object(j, NULL);
        put_json(r, row_at(r, i), &made, j);
        json_end(j);
        report_flush(sink, j->out);
    }
    json_end(j);
    if (r->noun) {
        strbuf_clear(&made);
        strbuf_printf(&made, "%s_left_out", key);
        json_u64(j, made.data, left_out_count(r));
    }
    strbuf_release(&made);
}

static void csv_cell(const struct cell *cell, struct strbuf *out)
{
    if (cell->type == CELL_INTEGER)
        strbuf_printf(out, "%" PRId64, cell->integer);
    else if (cell->type == CELL_NATURAL)
        strbuf_printf(out, "%" PRIu64, cell->natural);
    else if (cell->type == CELL_REAL)
        strbuf_printf(out, "%.17g", cell->real);
    else if (cell->type == CELL_FLAG)
        strbuf_puts(out, cell->flag ? "true" : "false");
    else if (cell->type == CELL_TEXT)
        csv_text(out, cell->text);
}

/* A value that only JSON can express has no column. */
static bool in_csv(const struct rows *r, const struct column_def *c)
{
    return c->key && (c->get || c->type || c->inner) && is_all_of(r, c->csv_if);
}

static void each_title(const struct rows *r, const char *prefix, const struct cell_taker *t)
{
    for (size_t i = 0; i < r->column_count; i++) {
        const struct column_def *c = &r->columns[i];
        char *name = xasprintf("%s%s%s", prefix, c->key ? c->key : "", c->inner ? "_" : "");
        struct rows inner = rows_within(r, c);
        if (in_csv(r, c) && c->inner)
            each_title(&inner, name, t);
        else if (in_csv(r, c))
            t->title(t->context, name, c->kind);
        free(name);
    }
}

/* `row` may be NULL: then all its values are unknown. */
static void each_cell(const struct rows *r, const void *row, struct strbuf *made,
                      const struct cell_taker *t)
{
    for (size_t i = 0; i < r->column_count; i++) {
        const struct column_def *c = &r->columns[i];
        if (!in_csv(r, c))
            continue;
        if (c->inner) {
            struct rows inner = rows_within(r, c);
            bool known = row && (!c->known || c->known(row));
            each_cell(&inner, known ? place_of(c, row) : NULL, made, t);
            continue;
        }
        struct cell cell = row ? cell_at(r, c, row, made) : CELL_NOT_KNOWN;
        t->cell(t->context, &cell);
    }
}

void rows_cells(const struct rows *r, const struct cell_taker *t)
{
    struct strbuf made = {0};
    each_title(r, "", t);
    for (size_t i = 0; i < shown_count(r); i++)
        each_cell(r, row_at(r, i), &made, t);
    strbuf_release(&made);
}

static void csv_title(void *out, const char *name, enum column_kind kind)
{
    (void)kind;
    strbuf_printf(out, "%s,", name);
}

static void csv_comma(void *out, const struct cell *cell)
{
    csv_cell(cell, out);
    strbuf_putc(out, ',');
}

void row_csv(const struct rows *r, const void *row, struct strbuf *out)
{
    const struct cell_taker csv = {csv_title, csv_comma, out};
    struct strbuf made = {0};
    if (row)
        each_cell(r, row, &made, &csv);
    else
        each_title(r, "", &csv);
    strbuf_release(&made);
}

void rows_csv(const struct rows *r, const struct report_sink *sink, struct strbuf *out)
{
    const struct cell_taker csv = {csv_title, csv_comma, out};
    struct strbuf made = {0};
    if (sink && sink->rows) {
        sink->rows(sink->context, r);
        return;
    }
    if (!r->continued) {
        each_title(r, "", &csv);
        csv_end_line(out);
    }
    for (size_t i = 0; i < shown_count(r); i++) {
        each_cell(r, row_at(r, i), &made, &csv);
        csv_end_line(out);
        report_flush(sink, out);
    }
    strbuf_release(&made);
}
