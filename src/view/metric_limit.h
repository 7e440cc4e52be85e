/*
 * metric_limit: how much a metric may be, or may grow from one recording to another (--limit).
 *
 *     peak 500 MiB     of the last recording: at most so much
 *     peak +5 %        of two recordings: at most so much more than the first has
 *     live +64 KiB     likewise
 *     cpu 5s           of metrics that are times
 *
 * cli/metric_limits.h gives the exit status. A limit is about all processes of a recording
 * together.
 */
#ifndef TIDE_VIEW_METRIC_LIMIT_H
#define TIDE_VIEW_METRIC_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "model/query.h"
#include "store/recording.h"

struct limit {
    const char *text; /* as given */
    enum metric metric;
    bool more;      /* relative to the first recording */
    double percent; /* percent of it; or 0, and */
    int64_t amount;
    /* Results of limit_check: */
    int64_t before, after, allowed;
    bool broken;
};

/* Returns 0; or -EINVAL and a sentence. */
int limit_parse(struct limit *l, const char *text, struct err *err);
/* `before` is NULL if there is only one recording. Returns 0; or a negative code and a sentence: it
 * cannot be decided. */
int limit_check(struct limit *l, struct recording *before, struct recording *after,
                struct err *err);
/* The same for figures that are already known. `has_before`: there is something to compare with. */
int limit_judge(struct limit *l, bool has_before, int64_t before, int64_t after, struct err *err);
void limit_json(const struct limit *l, struct json *j);

#endif
