/*
 * tables: the tables that commands print, by name, for formats that hold tables. A table has the
 * command's name, and the rows and columns of its --csv; `stamps` is `marks --stamps`, and
 * `processes` is the list at the beginning of reports.
 */
#ifndef TIDE_EXPORT_TABLES_H
#define TIDE_EXPORT_TABLES_H

#include "answer/columns.h"
#include "export/export.h"

/* Appends e->table (NULL: report) to `out` as CSV; or passes its rows to the sink, if that takes
 * rows. -EINVAL: there is no such table. */
int table_write(struct export *e, const struct report_sink *sink, struct strbuf *out,
                struct err *err);

#endif
