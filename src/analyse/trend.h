/*
 * trend: how much a series grows at each step, and how sure that is.
 *
 * A straight line through a series that rises in a few steps "proves" growth that is none: its
 * residuals are not independent. So the interval comes from the differences between neighbours
 * where most of them are nothing (few jumps: a wide interval) or all go the same way, and from a
 * line whose error is widened by the correlation of its residuals where the series is noisy.
 *
 * The first values may be a warm-up, which is skipped: as many as make the differences that remain
 * most alike, half of the series at the most.
 */
#ifndef TIDE_ANALYSE_TREND_H
#define TIDE_ANALYSE_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum trend_model {
    TREND_FLAT,    /* no growth that could be told from none */
    TREND_PLATEAU, /* grew while it warmed up, and not since */
    TREND_STEPS,   /* a few jumps, too few to call it growth */
    TREND_RAMP,    /* grows (or shrinks) throughout */
    TREND_MODELS
};

struct trend {
    enum trend_model model;
    size_t skipped;   /* values at the beginning */
    size_t used;      /* values after them */
    size_t jumps;     /* differences that are not about nothing */
    double slope;     /* for each unit of x */
    double low, high; /* its 95 % confidence interval */
    double
        detectable; /* the smallest slope that would have been told from none, four times in five */
    double warm_up; /* gained in what was skipped */
};

#define TREND_LEAST 4 /* values, to say anything */

/* `x` NULL: 0, 1, 2, ... x must not fall. false: fewer than TREND_LEAST values, or x stands still.
 */
bool trend_of(struct trend *t, const double *y, const double *x, size_t count);
/* 97.5 % quantile of Student's t. */
double trend_quantile(double freedom);
const char *trend_model_name(enum trend_model m);

#endif
