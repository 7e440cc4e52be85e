/*
 * answer_rows: the rows of an answer, their order, and which of them are kept.
 *
 * The order is total, so the same profile gives the same output every time: larger changes first
 * (without sign), then by names.
 *
 * The columns in which they are printed are in answer/report_columns.c.
 *
 * Ownership: texts are borrowed from the frame table and the profile; answer_rows_release frees the
 * arrays.
 */
#ifndef TIDE_MODEL_ANSWER_ROWS_H
#define TIDE_MODEL_ANSWER_ROWS_H

#include "model/group.h"
#include "model/measure.h"
#include "model/query.h"
#include "store/merge.h"

struct answer_row {
    const char *name, *module, *file; /* module, file: NULL if unknown */
    uint32_t line;                    /* 0: unknown */
    struct value self, total;
    const char *thread; /* by stack: the thread of the stack */
    uint32_t threads;   /* by thread: how many share the name */
    uint32_t call;      /* by stack, tree: node of the merged tree; otherwise the group */
    uint32_t depth;     /* tree: 0 for the outermost; by stack: number of frames */
    uint8_t kind;       /* enum frame_kind of the frame that is shown */
    /* In a merged recording: how self and total are spread over its inputs; NULL: not known. */
    const struct input_spread *self_spread, *total_spread;
};

struct answer_rows {
    VEC(struct answer_row) rows;
    size_t left_out;             /* rows that --top and --min left out */
    struct value left_out_value; /* sum of their selves */
};

/* For rows that have only self: makes it their total too. Drops rows without a value, since the
 * values of sites may cancel out. */
void answer_rows_keep_own(struct answer_rows *r);

/* Sorts by self, then total, then names. */
void answer_rows_sort(struct answer_rows *r);

/* Keeps the rows that --top and --min allow; `scale` is 100 %. Call it after answer_rows_sort. */
void answer_rows_cut(struct answer_rows *r, const struct query *q, int64_t scale, bool by_max);

/* A row with the label of a group and without values. */
struct answer_row row_labelled(const struct group *g, uint32_t number);

void answer_rows_release(struct answer_rows *r);

static inline uint64_t amount_size(int64_t amount)
{
    return amount < 0 ? -(uint64_t)amount : (uint64_t)amount;
}

#endif
