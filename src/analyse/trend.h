/*
 * trend: how a series goes on, how much it grows at each step, how sure that is, and since when.
 *
 * A series may have parts: nothing and then growth, growth that stops, a warm-up and then less. The
 * last part is what goes on, and slope and interval are its; `skipped` values lie before it, and
 * `begin` and `end` say between which values the series grew at all. Parts are told apart by a test
 * that chance fails once in a thousand times: of a series that only rises, by where its rises lie;
 * of a noisy one, by how much better a bent line fits than a straight one.
 *
 * A straight line through a series that rises in a few steps "proves" growth that is none: its
 * residuals are not independent. So the interval comes from the differences between neighbours
 * where most of them are nothing (few jumps: a wide interval) or all go the same way, and from a
 * line whose error is widened by the correlation of its residuals where the series is noisy.
 */
#ifndef TIDE_ANALYSE_TREND_H
#define TIDE_ANALYSE_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum trend_model {
    TREND_FLAT,     /* no growth that could be told from none */
    TREND_PLATEAU,  /* grew, and stopped: from `begin` to `end` */
    TREND_STEPS,    /* a few jumps, too few to call it growth */
    TREND_RAMP,     /* grows (or shrinks) since `begin`, up to the end */
    TREND_SAWTOOTH, /* rises and falls again, and is no higher for it */
    TREND_MODELS
};

struct trend {
    enum trend_model model;
    size_t skipped;   /* values before the last part */
    size_t used;      /* values of it */
    size_t jumps;     /* differences that are not about nothing, of the last part */
    double slope;     /* for each unit of x, of the last part */
    double low, high; /* its 95 % confidence interval */
    double
        detectable; /* the smallest slope that would have been told from none, four times in five */
    double warm_up; /* gained in what was skipped */

    bool began;        /* it was flat up to `begin`, which is not the first value */
    bool stopped;      /* it is flat since `end`, which is not the last */
    size_t begin, end; /* it grew between these values; both 0: it did not */
    double rate;       /* and for each unit of x between them */
    size_t rises;      /* differences above nothing, in all */
    bool steady;       /* only ever rises, and as well in its later half: new maxima do not */
    double fall;       /* the most that it fell from what it was before */
    bool sure;         /* a ramp, beyond what the interval leaves to chance in many series */
};

#define TREND_LEAST 4 /* values, to say anything */

/* `x` NULL: 0, 1, 2, ... x must not fall. false: fewer than TREND_LEAST values, or x stands still.
 */
bool trend_of(struct trend *t, const double *y, const double *x, size_t count);
/* 97.5 % quantile of Student's t. */
double trend_quantile(double freedom);
const char *trend_model_name(enum trend_model m);

/* trend_parts.c: a series that grows in one part of its length only. */
struct trend_part {
    bool found;
    bool began, stopped; /* there is a part before it, after it, in which it does not */
    size_t begin, end;
};
struct trend_part trend_part_of_rises(const double *y, const double *x, size_t count);
struct trend_part trend_part_of_line(const double *y, const double *x, size_t count);

#endif
