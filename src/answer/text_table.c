#include "answer/text_table.h"

#include <string.h>

#include "base/say.h"
#include "model/function_name.h"
#include "base/units.h"

#define GAP            2
#define FLEXIBLE_LEAST 16
#define TITLE_LEAST    20 /* "Thread-473 (short)" */

void table_init(struct table *t)
{
    *t = (struct table){0};
}

void table_column(struct table *t, const char *title, enum cell_kind kind)
{
    t->titles[t->columns] = title;
    t->kinds[t->columns++] = kind;
}

void table_spare(struct table *t, const char *title)
{
    for (size_t c = 0; c < t->columns; c++)
        if (strcmp(t->titles[c], title) == 0)
            t->spare[t->spares++] = c;
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

static bool is_flexible(enum cell_kind kind)
{
    return kind == CELL_NAME || kind == CELL_PATH || kind == CELL_WORDS || kind == CELL_TITLE;
}

/* The columns of a terminal that a table needs if flexible cells are as short as possible. */
static size_t least_width(const struct table *t, const size_t *widths, const bool *gone)
{
    size_t sum = 0, shown = 0;
    for (size_t c = 0; c < t->columns; c++) {
        if (gone[c])
            continue;
        size_t least = t->kinds[c] == CELL_TITLE ? TITLE_LEAST : FLEXIBLE_LEAST;
        sum += is_flexible(t->kinds[c]) && widths[c] > least ? least : widths[c];
        sum += shown++ ? GAP : 0;
    }
    return sum;
}

static void fit_columns(const struct table *t, size_t width, size_t *widths, bool *gone)
{
    for (size_t c = 0; c < t->columns; c++)
        widths[c] = unit_columns(t->titles[c]);
    for (size_t i = 0; i < t->cells.count; i++) {
        size_t n = unit_columns(cell_text(t, i)), c = i % t->columns;
        widths[c] = n > widths[c] ? n : widths[c];
    }
    for (size_t i = 0; i < t->spares && least_width(t, widths, gone) > width; i++)
        gone[t->spare[i]] = true;
    size_t rigid = 0, names = 0, paths = 0, shown = 0;
    for (size_t c = 0; c < t->columns; c++) {
        if (gone[c])
            continue;
        rigid += shown++ ? GAP : 0;
        if (t->kinds[c] == CELL_PATH)
            paths += widths[c];
        else if (is_flexible(t->kinds[c]))
            names += widths[c];
        else
            rigid += widths[c];
    }
    size_t room = width > rigid + FLEXIBLE_LEAST ? width - rigid : FLEXIBLE_LEAST;
    if (names + paths <= room)
        return;
    /* If there is one column of each kind, paths get up to 40 % of the room, names the rest. */
    size_t path_room = paths < room * 2 / 5 ? paths : room * 2 / 5;
    if (names + path_room < room)
        path_room = room - names;
    for (size_t c = 0; c < t->columns; c++) {
        size_t most = t->kinds[c] == CELL_PATH ? path_room : room - path_room;
        if (is_flexible(t->kinds[c]) && widths[c] > most)
            widths[c] = most;
    }
}

void table_path(struct strbuf *out, const char *path, size_t width)
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

/* Keeps whole words: half a number would be a wrong number. */
static void add_words(struct strbuf *out, const char *text, size_t width)
{
    size_t most = 0;
    if (unit_columns(text) <= width) {
        strbuf_puts(out, text);
        return;
    }
    for (size_t i = 0, n = 0; text[i]; i++) {
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (text[i] == ' ' && n + 3 <= width)
            most = i + 1;
    }
    strbuf_add(out, text, most);
    strbuf_puts(out, "...");
}

void table_front(struct strbuf *out, const char *text, size_t width)
{
    size_t most = unit_columns(text) > width && width > 3 ? width - 3 : width, i = 0;
    for (size_t n = 0; text[i]; i++) {
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (n > most)
            break;
    }
    strbuf_add(out, text, i);
    strbuf_puts(out, text[i] && width > 3 ? "..." : "");
}

static void add_cell(struct strbuf *out, const char *text, enum cell_kind kind, size_t width,
                     bool last)
{
    struct strbuf cell = {0};
    strbuf_puts(&cell, "");
    if (kind == CELL_PATH) {
        table_path(&cell, text, width);
    } else if (kind == CELL_WORDS) {
        add_words(&cell, text, width);
    } else if (kind == CELL_TITLE) {
        table_front(&cell, text, width);
    } else if (kind == CELL_NAME) {
        size_t indent = strspn(text, " "); /* of a tree */
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

static void add_row(const struct table *t, const char *const *texts, const size_t *widths,
                    const bool *gone, bool title, struct strbuf *out)
{
    bool first = true;
    for (size_t c = 0; c < t->columns; c++) {
        if (gone[c])
            continue;
        enum cell_kind kind = !title || t->kinds[c] == CELL_RIGHT ? t->kinds[c] : CELL_LEFT;
        strbuf_puts(out, first ? "" : "  ");
        add_cell(out, texts[c], kind, widths[c], c + 1 == t->columns);
        first = false;
    }
    trim(out);
}

static void add_gone(const struct table *t, const bool *gone, const struct style *s,
                     struct strbuf *out)
{
    bool any = false;
    for (size_t c = 0; c < t->columns; c++)
        if (gone[c]) {
            say(out, "%r%r%r", any ? ", " : style_faint(s),
                any ? "" : "no room for: ", t->titles[c]);
            any = true;
        }
    if (any)
        strbuf_printf(out, "; %s or --csv shows them%s\n",
                      s->terminal ? "a wider terminal" : "COLUMNS=200", style_plain(s));
}

void table_print(const struct table *t, const struct style *s, struct strbuf *out)
{
    size_t widths[TABLE_COLUMNS];
    bool gone[TABLE_COLUMNS] = {0};
    if (!t->columns)
        return;
    fit_columns(t, s->width, widths, gone);
    strbuf_puts(out, style_faint(s));
    add_row(t, t->titles, widths, gone, true, out);
    say(out, "%r\n", style_plain(s));
    for (size_t i = 0; i + t->columns <= t->cells.count; i += t->columns) {
        const char *texts[TABLE_COLUMNS];
        for (size_t c = 0; c < t->columns; c++)
            texts[c] = cell_text(t, i + c);
        add_row(t, texts, widths, gone, false, out);
        strbuf_putc(out, '\n');
    }
    add_gone(t, gone, s, out);
}

void table_release(struct table *t)
{
    for (size_t i = 0; i < t->cells.count; i++)
        strbuf_release(&t->cells.items[i]);
    vec_release(&t->cells);
}
