/*
 * merge: what a merged recording (tidemark merge) keeps about its inputs.
 *
 * The profile itself holds sums over all inputs. In addition it has the table of inputs, with the
 * totals of each, and the spread of each row of a report: in how many inputs the row has a value,
 * the smallest and the largest of these values, and the input that has the largest. A row is
 * identified by a 64-bit key, a hash of what the row is about (model/spread.h). Spreads are in
 * order of key, metric and kind, inputs in the order of merge_input_order, so that the same inputs
 * give the same bytes in whatever groups they were merged.
 *
 * Ownership: merge_free releases everything.
 */
#ifndef TIDE_STORE_MERGE_H
#define TIDE_STORE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* Totals of an input, in the order of the file. */
enum input_value {
    INPUT_ALLOCATIONS,
    INPUT_FREES,
    INPUT_REALLOCATIONS,
    INPUT_BYTES_ALLOCATED,
    INPUT_LIVE_BLOCKS,
    INPUT_LIVE_BYTES,
    INPUT_PEAK_BYTES,
    INPUT_TEMPORARY,
    INPUT_UNKNOWN_FREES,
    INPUT_LOST_EVENTS,
    INPUT_TRUNCATED,
    INPUT_INCOMPLETE,
    INPUT_CPU_NS,
    INPUT_FAULT_BYTES,
    INPUT_VALUES
};

/* One recording that went into the merge. */
struct merge_input {
    char *label;    /* "rank 17", or the path as given */
    char *file;     /* the path as given */
    char *host;     /* the host on which it was recorded */
    char *program;  /* the file name of its program */
    uint32_t rank1; /* its rank in its job, from 1; 0: none */
    uint32_t pid;
    uint32_t processes; /* how many processes it contains */
    uint64_t start_unix_ns, duration_ns;
    int exit_code; /* -1: not known, or killed by a signal */
    int signal;    /* 0: none */
    bool complete;
    uint64_t values[INPUT_VALUES];
};

/* How one value is spread over the inputs. */
struct input_spread {
    uint64_t inputs;  /* how many have a value other than 0 */
    int64_t sum;      /* of all values; for the metric `largest`, the highest */
    int64_t min, max; /* of the values other than 0 */
    uint32_t where;   /* the first input that has `max` */
};

enum spread_of { SPREAD_SELF, SPREAD_TOTAL, SPREAD_KINDS };

struct spread_row {
    uint64_t key;
    uint8_t metric; /* index into merge.metrics */
    uint8_t of;     /* enum spread_of */
    struct input_spread spread;
};

#define MERGE_METRICS 64 /* at most */

struct merge {
    VEC(struct merge_input) inputs;
    VEC(char *) metrics; /* names of the metrics that have spreads */
    VEC(struct spread_row) spreads;
    bool filters_differ; /* the inputs had different filters of `run`, so these are not kept */
};

struct merge *merge_new(void);
void merge_free(struct merge *m); /* accepts NULL */
void merge_input_release(struct merge_input *in);

/* The order of inputs: by rank, then label, host, start and pid. Returns a negative number, 0 or a
 * positive one. */
int merge_input_order(const struct merge_input *a, const struct merge_input *b);
/* The order of spreads, in the same form. */
int spread_row_order(const struct spread_row *a, const struct spread_row *b);

#endif
