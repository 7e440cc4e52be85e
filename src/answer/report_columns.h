/*
 * report_columns: the rows of a report as a table, for its text, JSON and CSV; by stack and as a
 * tree they have columns of their own.
 *
 * Ownership: borrows the answer; report_table_release frees the rest.
 */
#ifndef TIDE_ANSWER_REPORT_COLUMNS_H
#define TIDE_ANSWER_REPORT_COLUMNS_H

#include "answer/columns.h"
#include "answer/json_parts.h"

struct report_table {
    const struct answer *answer;
    struct rows rows, label, values; /* the last two are parts of a row: its identity, its values */
    struct column_def columns[32];
    struct json_stacks stacks;
};

void report_table_init(struct report_table *t, const struct answer *a);
void report_table_release(struct report_table *t);

#endif
