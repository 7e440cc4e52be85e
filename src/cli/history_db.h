/*
 * history_db: totals and top functions of many runs in a SQLite database. docs/many.md documents
 * the tables, so that others can query them too. Several processes may use one database at the same
 * time. Errors: a negative code and a sentence that names the database.
 */
#ifndef TIDE_CLI_HISTORY_DB_H
#define TIDE_CLI_HISTORY_DB_H

#include "base/err.h"
#include "model/history.h"
#include "store/recording.h"

#define HISTORY_FUNCTIONS 100 /* for each metric and run */

/* Adds a recording. `labels` are "KEY=VALUE". `id` gets its number. -EEXIST: it was added
 * before. */
int history_db_add(const char *db, struct recording *r, const char *file, const char *const *labels,
                   size_t count, int64_t *id, struct err *err);
/* Reads the runs that have all the labels, with their values of h->metric. */
int history_db_read(const char *db, struct history *h, const char *const *labels, size_t count,
                    struct err *err);
/* The sum of another metric in a run; false: the run does not have it. */
int history_db_value(const char *db, int64_t run, enum metric metric, bool *known, int64_t *bytes,
                     struct err *err);

#endif
