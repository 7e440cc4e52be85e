/*
 * known: what an imported recording cannot answer, decided here and nowhere else.
 *
 * A recording of tidemark's own knows everything; one that was imported names what it lacks
 * (profile.imported.unknown). Each check is 0, or -ENODATA and a sentence that says from which tool
 * the recording is and what that tool does not tell.
 */
#ifndef TIDE_MODEL_KNOWN_H
#define TIDE_MODEL_KNOWN_H

#include "model/query.h"
#include "store/recording.h"

/* Does it know any figure of the metric? */
bool metric_is_known(const struct profile *p, enum metric metric);
/* The metric, with its size. */
int known_metric(const struct profile *p, enum metric metric, enum size_kind size, struct err *err);
/* Any of these (enum unknown) are needed; `what` is the word for the sentence: "threads". */
int known_all(const struct profile *p, uint32_t needed, const char *what, struct err *err);
/* The moment that the word means: start, end and peak are known of each, others need a history. */
int known_moment(const struct profile *p, const char *word, bool is_time, struct err *err);
/* The metric to begin with: live, and where that is not known, one that is. */
enum metric known_default(const struct profile *p);
/* Are numbers of blocks (or of samples) known? */
static inline bool known_counts(const struct profile *p, enum metric metric)
{
    return !profile_lacks(p, UNKNOWN_COUNTS) || metric == METRIC_CPU || metric == METRIC_SAMPLES;
}

#endif
