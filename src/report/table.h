/*
 * table: text in columns that fit a width.
 *
 * Columns are as wide as their widest cell, until the table is too wide; then the flexible ones are
 * shortened: function names lose arguments and template arguments first, paths their front.
 *
 *     struct table t;  table_init(&t);  table_column(&t, "self", CELL_RIGHT);  table_column(&t,
 * "function", CELL_NAME); struct strbuf *cell = table_cell(&t);  unit_bytes(cell, 12);  ...
 *     table_print(&t, &style, out);  table_release(&t);
 *
 * Cells are given row by row, left to right. The table owns the cells.
 */
#ifndef TIDE_REPORT_TABLE_H
#define TIDE_REPORT_TABLE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "report/style.h"

enum cell_kind {
    CELL_RIGHT, /* numbers */
    CELL_LEFT,  /* short words */
    CELL_NAME,  /* function names: flexible */
    CELL_PATH,  /* file:line: flexible, at most a third of the width */
};

#define TABLE_COLUMNS 16

struct table {
    size_t columns;
    const char *titles[TABLE_COLUMNS];
    enum cell_kind kinds[TABLE_COLUMNS];
    VEC(struct strbuf) cells;
};

void table_init(struct table *t);
void table_column(struct table *t, const char *title, enum cell_kind kind);
/* The next cell, empty; good until the next call. */
struct strbuf *table_cell(struct table *t);
void table_print(const struct table *t, const struct style *s, struct strbuf *out);
void table_release(struct table *t);

#endif
