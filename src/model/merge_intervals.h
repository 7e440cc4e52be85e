/*
 * merge_intervals: reduces the log of a profile to two intervals, up to when the process began to
 * end and the rest, for questions about whole runs (tidemark merge). Each site then has at most one
 * row in each, so that later steps need not read a hundred thousand rows again and again.
 * Afterwards only the moments start, exit, peak and end have a meaning.
 */
#ifndef TIDE_MODEL_MERGE_INTERVALS_H
#define TIDE_MODEL_MERGE_INTERVALS_H

#include "store/recording.h"

void profile_merge_intervals(struct profile *p);

#endif
