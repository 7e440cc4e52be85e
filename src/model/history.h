/*
 * history: totals and the top functions of many runs, and what changed from each run to the next.
 *
 * The data of `tidemark history`, as it is read from its database (cli/history_db.h). Runs are in the
 * order in which they were added. Functions are matched by name and library. A function that a run
 * does not list has either nothing there, or less than those that are listed: then the change is not
 * known and left out.
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

/* A function in one run, of one metric. */
struct history_function {
    uint32_t name, module; /* in history.strings; module 0: not known */
    int64_t bytes, count;  /* charged to it itself */
};

struct history_change {
    uint32_t name, module;
    int64_t before, after;
};

struct history_run {
    int64_t id; /* from 1, in the order in which they were added */
    char *file, *program, *host;
    uint64_t start_unix_ns, duration_ns;
    int exit_code, signal; /* as in struct profile */
    bool complete;
    uint64_t inputs; /* recordings that it was merged from; 1: it is one */
    uint64_t sample_bytes; /* run --sample: figures of the heap are estimates; 0: they are exact */
    VEC(struct history_label) labels;
    bool known; /* it has the metric */
    int64_t bytes, count;
    bool all_functions; /* those not listed have nothing */
    VEC(struct history_function) functions;
    /* history_compare: */
    bool compared; /* with the run before that has the metric */
    int64_t change_bytes;
    VEC(struct history_change) changes; /* the largest first */
};

struct history {
    enum metric metric;
    struct strpool strings;
    VEC(struct history_run) runs;
};

void history_release(struct history *h);
/* Fills what changed from each run to the next; at most `most` functions for each. */
void history_compare(struct history *h, size_t most);

#endif
