/*
 * top: who holds memory, and how that changed in the last seconds: the rows of `tidemark top`.
 *
 * Each row has what it holds at the end of the recording and, per second of a window before that,
 * what it gained, allocated, and allocated only for a moment.
 *
 * Ownership: borrows recording and query, which must outlive it; top_release frees the rest.
 */
#ifndef TIDE_ANALYSE_TOP_H
#define TIDE_ANALYSE_TOP_H

#include "model/answer.h"

enum top_sort { TOP_HELD, TOP_GROWTH, TOP_RATE, TOP_TEMPORARY, TOP_SORTS };

struct top_row {
    const char *name, *module, *file;
    uint32_t line;                  /* 0: unknown */
    int64_t bytes, blocks;          /* of the query's metric */
    double growth, rate, temporary; /* bytes per second of the window */
};

enum top_question { TOP_ASK_HELD, TOP_ASK_GAINED, TOP_ASK_ALLOCATED, TOP_ASK_TEMPORARY, TOP_ASKS };

struct top {
    struct query queries[TOP_ASKS];
    struct answer answers[TOP_ASKS];
    char since[32];  /* where the window begins, as a moment */
    double window_s; /* its length, which may be 0 */
    enum top_sort sort;
    struct totals now;  /* of the process, whatever stacks are shown */
    struct top_row all; /* sums of the rows */
    VEC(struct top_row) rows;
    size_t left_out; /* rows beyond the query's top */
};

/* `window_ns`: the wanted length of the window. Errors as of answer_query. */
int top_query(struct top *out, const struct recording *r, const struct query *q, uint64_t window_ns,
              enum top_sort sort, struct err *err);
void top_release(struct top *t);

/* Parses "live", "growth", "rate", "temporary"; false: none of these. */
bool top_sort_parse(const char *word, enum top_sort *out);
const char *top_sort_name(enum top_sort sort);

#endif
