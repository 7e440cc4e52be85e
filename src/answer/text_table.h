/*
 * text_table: text in columns that fit a width.
 *
 * Columns are as wide as their widest cell, until the table is too wide. Then the flexible ones are
 * shortened: function names lose arguments and template arguments first, paths their beginning,
 * lists of words their end. Numbers are never cut. If that is not enough, whole columns that the
 * command can spare are dropped, and a line below names them.
 *
 *   table_init(&t);
 *   table_column(&t, "self", CELL_RIGHT);
 *   table_column(&t, "function", CELL_NAME);
 *   unit_bytes(table_cell(&t), 12);
 *   strbuf_puts(table_cell(&t), "main");
 *   table_print(&t, &style, out);
 *   table_release(&t);
 *
 * Cells are added row by row, left to right. The table owns the cells.
 */
#ifndef TIDE_ANSWER_TEXT_TABLE_H
#define TIDE_ANSWER_TEXT_TABLE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "answer/style.h"

enum cell_kind {
    CELL_RIGHT, /* numbers */
    CELL_LEFT,  /* short words */
    CELL_NAME,  /* function names: flexible */
    CELL_PATH,  /* file:line, label#3: flexible, at most 40 % if there are names too */
    CELL_WORDS, /* flexible: as many words as there is room for */
    CELL_TITLE, /* names of threads: flexible, the beginning stays */
};

#define TABLE_COLUMNS 16

struct table {
    size_t columns;
    const char *titles[TABLE_COLUMNS];
    enum cell_kind kinds[TABLE_COLUMNS];
    size_t spare[TABLE_COLUMNS], spares; /* columns that may be dropped, in this order */
    VEC(struct strbuf) cells;
};

void table_init(struct table *t);
void table_column(struct table *t, const char *title, enum cell_kind kind);
/* If there is no room, this column is dropped, after those of earlier calls; --csv must have it. */
void table_spare(struct table *t, const char *title);
/* The next cell, empty; valid until the next call. */
struct strbuf *table_cell(struct table *t);
/* Appends a path, or any text whose end matters most, in at most `width` columns. */
void table_path(struct strbuf *out, const char *path, size_t width);
/* The same for a text whose beginning matters most. */
void table_front(struct strbuf *out, const char *text, size_t width);
void table_print(const struct table *t, const struct style *s, struct strbuf *out);
void table_release(struct table *t);

#endif
