/*
 * history: totals and the top functions of many runs, and what changed from each run to the next:
 * the data of `tidemark history`, as read from its database (cli/history_db.h).
 *
 * Runs are in the order in which they were added. Functions are matched by name and library. A
 * function that a run does not list either has nothing there, or has less than those that are
 * listed: then the change is unknown and left out.
 *
 * Ownership: history_release frees everything.
 */
#ifndef TIDE_MODEL_HISTORY_H
#define TIDE_MODEL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "model/query.h"

struct history_label {
    char *key, *value;
};

/* A function in one run, for one metric. */
struct history_function {
    uint32_t name, module; /* indexes into history.strings; module 0: not known */
    int64_t bytes, count;  /* what the function itself is charged for */
};

struct history_change {
    uint32_t name, module;
    int64_t before, after;
};

struct history_run {
    int64_t id; /* from 1, in the order in which runs were added */
    char *file, *program, *host;
    uint64_t start_unix_ns, duration_ns;
    int exit_code, signal; /* as in struct profile */
    bool complete;
    uint64_t inputs;       /* number of recordings that it was merged from; 1: it is a single one */
    uint64_t sample_bytes; /* run --sample: figures of the heap are estimates; 0: exact */
    VEC(struct history_label) labels;
    bool known; /* the run has the metric */
    int64_t bytes, count;
    bool all_functions; /* functions that are not listed have nothing */
    VEC(struct history_function) functions;
    /* Set by history_compare: */
    bool compared; /* with the last earlier run that has the metric */
    int64_t change_bytes;
    VEC(struct history_change) changes; /* the largest first */
};

struct history {
    enum metric metric;
    struct strpool strings;
    VEC(struct history_run) runs;
};

void history_release(struct history *h);
/* Computes what changed from each run to the next, with at most `most` functions for each. */
void history_compare(struct history *h, size_t most);

#endif
