#include "report/table.h"

#include <string.h>

#include "model/name.h"
#include "report/units.h"

#define GAP 2

void table_init(struct table *t)
{
    *t = (struct table){0};
}

void table_column(struct table *t, const char *title, enum cell_kind kind)
{
    t->titles[t->columns] = title;
    t->kinds[t->columns++] = kind;
}

struct strbuf *table_cell(struct table *t)
{
    struct strbuf *cell = vec_push(&t->cells);
    *cell = (struct strbuf){0};
    return cell;
}

static const char *cell_text(const struct table *t, size_t i)
{
    return t->cells.items[i].data ? t->cells.items[i].data : "";
}

static void fit_columns(const struct table *t, size_t width, size_t *widths)
{
    for (size_t c = 0; c < t->columns; c++)
        widths[c] = unit_columns(t->titles[c]);
    for (size_t i = 0; i < t->cells.count; i++) {
        size_t n = unit_columns(cell_text(t, i)), c = i % t->columns;
        widths[c] = n > widths[c] ? n : widths[c];
    }
    size_t rigid = 0, names = 0, paths = 0;
    for (size_t c = 0; c < t->columns; c++) {
        rigid += c ? GAP : 0;
        if (t->kinds[c] == CELL_NAME)
            names += widths[c];
        else if (t->kinds[c] == CELL_PATH)
            paths += widths[c];
        else
            rigid += widths[c];
    }
    size_t room = width > rigid + 16 ? width - rigid : 16;
    if (names + paths <= room)
        return;
    /* Paths keep up to 40 % of the room, names get the rest; with one column of each kind. */
    size_t path_room = paths < room * 2 / 5 ? paths : room * 2 / 5;
    if (names + path_room < room)
        path_room = room - names;
    for (size_t c = 0; c < t->columns; c++) {
        if (t->kinds[c] == CELL_NAME && widths[c] > room - path_room)
            widths[c] = room - path_room;
        if (t->kinds[c] == CELL_PATH && widths[c] > path_room)
            widths[c] = path_room;
    }
}

/* The end of a path is what tells files apart. */
static void add_path(struct strbuf *out, const char *path, size_t width)
{
    size_t n = unit_columns(path);
    if (n > width) {
        size_t skip = n - width + (width > 3 ? 3 : 0);
        while (skip && *path) {
            path++;
            while (((unsigned char)*path & 0xc0) == 0x80)
                path++;
            skip--;
        }
        if (width > 3)
            strbuf_puts(out, "...");
    }
    strbuf_puts(out, path);
}

static void add_cell(struct strbuf *out, const char *text, enum cell_kind kind, size_t width,
                     bool last)
{
    struct strbuf cell = {0};
    strbuf_puts(&cell, "");
    if (kind == CELL_PATH) {
        add_path(&cell, text, width);
    } else if (kind == CELL_NAME) {
        size_t indent = strspn(text, " "); /* of trees */
        indent = indent > width / 2 ? width / 2 : indent;
        strbuf_add(&cell, text, indent);
        name_shorten(&cell, text + strspn(text, " "), width - indent);
    } else {
        strbuf_puts(&cell, text);
    }
    size_t n = unit_columns(cell.data), pad = n < width ? width - n : 0;
    for (size_t i = 0; kind == CELL_RIGHT && i < pad; i++)
        strbuf_putc(out, ' ');
    strbuf_add(out, cell.data, cell.size);
    for (size_t i = 0; kind != CELL_RIGHT && !last && i < pad; i++)
        strbuf_putc(out, ' ');
    strbuf_release(&cell);
}

static void trim(struct strbuf *out)
{
    while (out->size && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
}

void table_print(const struct table *t, const struct style *s, struct strbuf *out)
{
    size_t widths[TABLE_COLUMNS];
    if (!t->columns)
        return;
    fit_columns(t, s->width, widths);
    strbuf_puts(out, style_faint(s));
    for (size_t c = 0; c < t->columns; c++) {
        strbuf_puts(out, c ? "  " : "");
        add_cell(out, t->titles[c], t->kinds[c] == CELL_RIGHT ? CELL_RIGHT : CELL_LEFT, widths[c],
                 c + 1 == t->columns);
    }
    trim(out);
    strbuf_puts(out, style_plain(s));
    strbuf_putc(out, '\n');
    for (size_t i = 0; i < t->cells.count; i++) {
        size_t c = i % t->columns;
        bool last = c + 1 == t->columns;
        strbuf_puts(out, c ? "  " : "");
        add_cell(out, cell_text(t, i), t->kinds[c], widths[c], last);
        if (last) {
            trim(out);
            strbuf_putc(out, '\n');
        }
    }
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->cells.count; i++)
        strbuf_release(&t->cells.items[i]);
    vec_release(&t->cells);
}
