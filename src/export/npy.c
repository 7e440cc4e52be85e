/*
 * npy: a table of a command as a structured array that numpy.load reads (format version 1.0).
 *
 * A column of numbers is <i8 (<u8 if needed) or <f8, a column of texts is |S with as many bytes as
 * its longest text needs. It loses which values are unknown: such numbers are -2^63 or NaN, such
 * texts empty. Texts are cut at TEXT_BYTES bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "export/tables.h"

#define TEXT_BYTES 4096

struct npy_column {
    char *name;
    bool text, real;
    bool large;   /* numbers of 2^63 and more: some addresses */
    size_t width; /* bytes */
};

struct npy_cell {
    struct cell cell;
    uint32_t text; /* index into texts */
};

struct npy {
    VEC(struct npy_column) columns;
    VEC(struct npy_cell) cells;
    struct strpool texts;
    size_t cut;
};

static bool is_text(enum column_kind kind)
{
    return kind == COLUMN_WORD || kind == COLUMN_NAME || kind == COLUMN_PATH ||
           kind == COLUMN_WORDS || kind == COLUMN_TITLE || kind == COLUMN_CALL;
}

static void take_title(void *context, const char *name, enum column_kind kind)
{
    struct npy *n = context;
    if (n->cells.count)
        return;
    for (size_t i = 0; i < n->columns.count; i++) /* the second part of an empty table */
        if (strcmp(n->columns.items[i].name, name) == 0)
            return;
    *vec_push(&n->columns) =
        (struct npy_column){.name = xstrdup(name),
                            .text = is_text(kind),
                            .real = kind == COLUMN_PERCENT || kind == COLUMN_REAL,
                            .width = 8};
}

static void take_cell(void *context, const struct cell *cell)
{
    struct npy *n = context;
    struct npy_column *c = &n->columns.items[n->cells.count % n->columns.count];
    struct npy_cell *mine = vec_push(&n->cells);
    const char *text = cell->type == CELL_TEXT              ? cell->text
                       : cell->type == CELL_FLAG && c->text ? cell->flag ? "true" : "false"
                                                            : "";
    *mine = (struct npy_cell){.cell = *cell, .text = strpool_add(&n->texts, text)};
    c->text |= cell->type == CELL_TEXT;
    c->real |= cell->type == CELL_REAL;
    c->large |= cell->type == CELL_NATURAL && cell->natural > INT64_MAX;
}

static void take_rows(void *context, const struct rows *r)
{
    const struct cell_taker taker = {take_title, take_cell, context};
    rows_cells(r, &taker);
}

/* Texts are as wide as the longest. */
static void set_widths(struct npy *n)
{
    for (size_t i = 0; i < n->columns.count; i++) {
        struct npy_column *c = &n->columns.items[i];
        c->width = c->text;
        for (size_t k = i; c->text && k < n->cells.count; k += n->columns.count) {
            size_t size = strlen(strpool_get(&n->texts, n->cells.items[k].text));
            n->cut += size > TEXT_BYTES;
            size = size > TEXT_BYTES ? TEXT_BYTES : size;
            c->width = size > c->width ? size : c->width;
        }
    }
}

static void put_header(const struct npy *n, struct strbuf *out)
{
    struct strbuf header = {0};
    strbuf_puts(&header, "{'descr': [");
    for (size_t i = 0; i < n->columns.count; i++) {
        const struct npy_column *c = &n->columns.items[i];
        if (c->text)
            strbuf_printf(&header, "('%s', '|S%zu'), ", c->name, c->width);
        else
            strbuf_printf(&header, "('%s', '<%s8'), ", c->name,
                          c->real    ? "f"
                          : c->large ? "u"
                                     : "i");
    }
    strbuf_printf(&header, "], 'fortran_order': False, 'shape': (%zu,), }",
                  n->cells.count / n->columns.count);
    while ((10 + header.size + 1) % 64)
        strbuf_putc(&header, ' ');
    strbuf_putc(&header, '\n');
    uint16_t size = (uint16_t)header.size; /* tables have few columns with short names */
    strbuf_add(out, "\x93NUMPY\x01\x00", 8);
    strbuf_add(out, &size, 2);
    strbuf_add(out, header.data, header.size);
    strbuf_release(&header);
}

static void put_cell(const struct npy *n, const struct npy_column *c, const struct npy_cell *cell,
                     struct strbuf *out)
{
    const struct cell *v = &cell->cell;
    double real = v->type == CELL_REAL      ? v->real
                  : v->type == CELL_INTEGER ? (double)v->integer
                  : v->type == CELL_NATURAL ? (double)v->natural
                  : v->type == CELL_FLAG    ? v->flag
                                            : NAN;
    int64_t integer = v->type == CELL_INTEGER   ? v->integer
                      : v->type == CELL_NATURAL ? (int64_t)v->natural
                      : v->type == CELL_FLAG    ? v->flag
                                                : INT64_MIN;
    if (c->text) {
        const char *text = strpool_get(&n->texts, cell->text);
        size_t size = strnlen(text, c->width);
        strbuf_add(out, text, size);
        for (; size < c->width; size++)
            strbuf_putc(out, '\0');
    } else if (c->real) {
        strbuf_add(out, &real, sizeof real);
    } else {
        strbuf_add(out, &integer, sizeof integer);
    }
}

int export_npy(struct export *e, struct err *err)
{
    struct npy n = {0};
    const struct report_sink sink = {.rows = take_rows, .context = &n};
    struct strbuf unused = {0};
    int code = table_write(e, &sink, &unused, err);
    if (!code) {
        set_widths(&n);
        put_header(&n, e->out);
        for (size_t i = 0; i < n.cells.count; i++) {
            put_cell(&n, &n.columns.items[i % n.columns.count], &n.cells.items[i], e->out);
            report_flush(e->sink, e->out);
        }
        if (n.cut)
            say(e->notes, "tidemark export: npy holds %d bytes of a text: %N are cut\n", TEXT_BYTES,
                n.cut);
    }
    for (size_t i = 0; i < n.columns.count; i++)
        free(n.columns.items[i].name);
    vec_release(&n.columns);
    vec_release(&n.cells);
    strpool_release(&n.texts);
    strbuf_release(&unused);
    return code;
}
