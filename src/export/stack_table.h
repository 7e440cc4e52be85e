/*
 * stack_table: the call stacks of a process with several metrics side by side.
 *
 * An answer (model/answer.h) has one metric. Formats of other tools need several for the same
 * stack: allocations and what is live, or what was live at the peak and what is left. A row is one
 * site: a stack and the thread that allocated there. Focus, process and moments are those of the
 * query, and stacks look as in `report --by stack`: summed by stack and thread, a column equals
 * that report.
 *
 * Ownership: borrows recording and query; stack_table_release frees the rest.
 */
#ifndef TIDE_EXPORT_STACK_TABLE_H
#define TIDE_EXPORT_STACK_TABLE_H

#include "model/answer.h"

#define STACK_COLUMNS 8

struct stack_column {
    enum metric metric;
    enum size_kind size;
    bool ever; /* also include rows that had a value at another time */
};

struct stack_row {
    uint32_t site;   /* index into profile.sites */
    uint32_t call;   /* in tree: the call that is charged, innermost of the stack */
    uint32_t node;   /* in merged: the same; equal stacks have one number */
    uint32_t thread; /* index into profile.threads; the number of threads if it is not known */
    struct value values[STACK_COLUMNS];
};

struct stack_table {
    const struct recording *recording;
    const struct profile *profile;
    const struct query *query;
    size_t column_count;
    struct stack_column columns[STACK_COLUMNS];
    struct window windows[STACK_COLUMNS];
    struct frame_table frames;
    struct call_tree tree; /* its values have no meaning: it only says which stacks there are */
    struct merged merged;
    /* In order of site; at least one column is not zero, or was at some time. */
    VEC(struct stack_row) rows;
};

/* Errors are those of answer_query for each of the metrics. */
int stack_table_init(struct stack_table *t, const struct recording *r, const struct query *q,
                     const struct stack_column *columns, size_t count, struct err *err);
void stack_table_release(struct stack_table *t);

/* The sum of a column; and for each node of `merged`, what its stack has of it: the caller frees
 * that. */
struct value stack_table_sum(const struct stack_table *t, size_t column);
struct value *stack_table_own(const struct stack_table *t, size_t column);

/* Rows in which each stack occurs once, whatever the thread; those with the largest share of any
 * column come first. The caller releases them. */
struct ranked_rows {
    struct stack_row *items;
    size_t count, capacity;
};
void stack_table_rank(const struct stack_table *t, struct ranked_rows *out);
/* Adds the values of a row to another. */
void stack_table_join(const struct stack_table *t, struct stack_row *into,
                      const struct stack_row *row);

/* The name of a row's thread; "": not known. */
const char *stack_table_thread(const struct stack_table *t, const struct stack_row *row);

/* The parts of a frame as text; file and module are "" if they are not known. */
struct stack_frame {
    const char *name, *file, *module;
    uint32_t line; /* 0: not known */
    bool python, inlined;
};
struct stack_frame stack_frame_of(const struct frame_table *t, uint32_t frame);

/* For each frame, the address of some call that it belongs to; 0: none is known. The caller frees
 * the result. */
uint64_t *stack_table_addresses(const struct stack_table *t);

/* The interval that contains the peak: its own peak equals the process's. If none does, because
 * several threads ran, it is the one that contains the time of the peak, which is known less
 * exactly. Returns 0 if there are no intervals. */
size_t profile_peak_interval(const struct profile *p);

/* The command line, words separated by spaces. */
void profile_command(const struct profile *p, struct strbuf *out);

#endif
