/*
 * collapse: the log of a profile in two intervals, up to when the process began to end and the rest,
 * for questions about whole runs alone (tidemark merge). Each site then has at most one row in each,
 * so that what follows need not read a hundred thousand rows again and again.
 *
 * Moments other than start, exit, peak and end mean nothing afterwards.
 */
#ifndef TIDE_MODEL_COLLAPSE_H
#define TIDE_MODEL_COLLAPSE_H

#include "store/recording.h"

void profile_collapse(struct profile *p);

#endif
