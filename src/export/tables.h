/*
 * tables: the tables that commands print, by name, for formats that hold tables.
 *
 * The name is the command's, and the rows and columns are those of its --csv; `stamps` is `marks
 * --stamps`, and `processes` is the list that reports begin with.
 */
#ifndef TIDE_EXPORT_TABLES_H
#define TIDE_EXPORT_TABLES_H

#include "answer/columns.h"
#include "export/export.h"

/* Puts e->table (NULL: report) into `out` as CSV; or gives its rows to the sink, if that takes
 * rows. -EINVAL: there is no such table. */
int table_write(struct export *e, const struct report_sink *sink, struct strbuf *out,
                struct err *err);

#endif
