/*
 * diff: puts the same question to two recordings, and matches the results by names.
 *
 * Each recording is asked as for a report (model/answer.h), with comparable names
 * (model/comparable_name.h). Then rows are matched:
 * - functions by name; address, line, file and library do not matter
 * - stacks by the names of their functions and of their thread; nodes of the tree by the names from
 *   the root
 * - lines by function, file name without folder, and number
 * - files by path; then by name without folder, if each side has only one left with this name
 *
 * Larger changes come first. answer/diff_columns.c has the columns, answer/diff_text.c the text.
 *
 * If one recording does not have what is asked for (no such thread, say), its values are zero and
 * `missing` says why. It is an error if neither has it, or if one did not measure the metric.
 *
 * Ownership: borrows the recordings, the query and the file names; diff_release frees the rest.
 */
#ifndef TIDE_MODEL_DIFF_H
#define TIDE_MODEL_DIFF_H

#include "model/answer.h"

enum diff_status { DIFF_SAME, DIFF_CHANGED, DIFF_NEW, DIFF_GONE, DIFF_STATUSES };

struct diff_row {
    const char *name, *module, *file; /* from the second recording, if it has the row */
    uint32_t line;
    const char *thread;
    bool there[2];
    struct value self[2], total[2];
    uint32_t call[2]; /* by stack: where its frames are in each side's answer */
    uint32_t node;    /* stack, tree: index into diff.nodes; otherwise 0 */
    uint32_t depth;   /* tree: 0 for the outermost */
    enum diff_status status;
};

struct diff_node {
    uint32_t parent, name;
};

struct diff_side {
    const char *file;
    struct query query; /* shares the patterns of the question */
    char *process;      /* owned: query.process, if each side was given its own */
    const struct recording *recording;
    const struct profile *profile;
    struct answer answer; /* if something is missing, only its totals are set */
    struct err missing;   /* empty text: nothing is missing */
};

struct diff {
    const struct query *query;
    struct diff_side side[2];
    bool counted; /* are numbers of blocks known on both sides? */
    struct strpool names;
    VEC(struct diff_node) nodes; /* the paths of stacks or trees */
    struct map children;         /* (parent, name) -> node */
    VEC(struct diff_row) rows;   /* larger changes first, without sign; a tree in its own order */
    size_t count[DIFF_STATUSES];
    size_t left_out;              /* rows that --top and --min left out */
    struct value left_out_change; /* sum of their changes of self */
    uint64_t scale;               /* 100 % for --min: the sum of all changes without sign */
};

/* `files` are the names of the recordings in errors. -EINVAL: the question makes no sense; -ENOENT:
 * neither recording has it; -ENODATA: one has not measured it. */
int diff_query(struct diff *d, const struct recording *const recordings[2],
               const char *const files[2], const struct query *q, struct err *err);
void diff_release(struct diff *d);

/* Do both sides have the same totals, and are all rows equal? */
bool diff_is_empty(const struct diff *d);

static inline struct value value_change(const struct value v[2])
{
    return (struct value){(int64_t)((uint64_t)v[1].amount - (uint64_t)v[0].amount),
                          (int64_t)((uint64_t)v[1].count - (uint64_t)v[0].count)};
}

#endif
