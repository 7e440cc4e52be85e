/*
 * tables: the tables that commands print, by name, for formats that hold tables. A table has the
 * command's name, and the rows and columns of its --csv; `stamps` is `marks --stamps`, and
 * `processes` is the list at the beginning of reports.
 */
#ifndef TIDE_EXPORT_TABLES_H
#define TIDE_EXPORT_TABLES_H

#include "answer/columns.h"
#include "export/export.h"

/* Which options a table takes, as the command does, beside those of enum export_takes. */
enum table_takes {
    TABLE_BY = 16,
    TABLE_TOP = 32,
    TABLE_MIN = 64,
    TABLE_STACKS = 128, /* --within and other options of struct stack_filter */
    TABLE_PROCESS = 256,
    TABLE_ALL = 512, /* --process all */
};

/* The options of this table; all of them, if there is no such table or it is NULL (report). */
unsigned table_takes(const char *name);
/* Appends e->table (NULL: report) to `out` as CSV; or passes its rows to the sink, if that takes
 * rows. -EINVAL: there is no such table. */
int table_write(struct export *e, const struct report_sink *sink, struct strbuf *out,
                struct err *err);

#endif
