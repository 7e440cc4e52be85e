/*
 * imported: what an imported recording cannot answer. This is the only place that decides it.
 *
 * A recording of tidemark's own has all figures; an imported one lists what it lacks
 * (profile.imported.unknown). Each check returns 0, or -ENODATA and a sentence that names the tool
 * and what that tool does not record. answer/imported.h prints the origin of such a recording.
 */
#ifndef TIDE_MODEL_IMPORTED_H
#define TIDE_MODEL_IMPORTED_H

#include "model/query.h"
#include "store/recording.h"

/* Does the profile have any figure of the metric? */
bool metric_is_known(const struct profile *p, enum metric metric);
/* Checks a metric with its size. */
int known_metric(const struct profile *p, enum metric metric, enum size_kind size, struct err *err);
/* Checks for any of these figures (enum unknown); `what` is the word for the sentence:
 * "threads". */
int known_all(const struct profile *p, uint32_t needed, const char *what, struct err *err);
/* Checks the moment that the word means: start, end and peak are always known, others need a
 * history. */
int known_moment(const struct profile *p, const char *word, bool is_time, struct err *err);
/* The default metric: live, or if that is not known, one that is. */
enum metric known_default(const struct profile *p);
/* Are numbers of blocks (or of samples) known? */
static inline bool known_counts(const struct profile *p, enum metric metric)
{
    return !profile_lacks(p, UNKNOWN_COUNTS) || metric == METRIC_CPU || metric == METRIC_SAMPLES;
}

#endif
