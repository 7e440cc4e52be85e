/*
 * trend: whether a series grows, how much at each step, how certain that is, and since when.
 *
 * A series may have parts: nothing and then growth, growth that stops, a warm-up and then less. The
 * slope and its interval describe the last part, because that part is expected to continue. Before
 * it are `skipped` values; the series grew between the values `begin` and `end`. A test with a
 * significance level of 0.001 finds the parts: in a series that only rises, it compares where the
 * rises are; in a noisy one, how much better a bent line fits than a straight one.
 *
 * A straight line through a series that rises in a few steps "proves" growth where there is none,
 * because its residuals are not independent. So the interval comes from the differences between
 * neighbours if most of them are zero (few jumps: a wide interval) or all have the same sign. If
 * the series is noisy, it comes from a line whose error is widened by the autocorrelation of its
 * residuals.
 *
 * trend_parts.c finds the parts. Which series are asked about, and what follows for the process, is
 * decided by growth.h and its parts.
 */
#ifndef TIDE_ANALYSE_TREND_H
#define TIDE_ANALYSE_TREND_H

#include <stdbool.h>
#include <stddef.h>

enum trend_model {
    TREND_FLAT,     /* no growth that can be distinguished from none */
    TREND_PLATEAU,  /* grew, and stopped: from `begin` to `end` */
    TREND_STEPS,    /* a few jumps, too few to call it growth */
    TREND_RAMP,     /* grows (or shrinks) since `begin`, up to the end */
    TREND_SAWTOOTH, /* rises and falls again, without becoming higher */
    TREND_MODELS
};

struct trend {
    enum trend_model model;
    size_t skipped;   /* values before the last part */
    size_t used;      /* number of values in the last part */
    size_t jumps;     /* in the last part: differences that do not count as zero */
    double slope;     /* in the last part: per unit of x */
    double low, high; /* its 95 % confidence interval */
    /* The slope is that of a line through all values of the last part; otherwise it is the
     * difference between its last value and its first one. */
    bool fitted;
    /* The smallest slope that would have been detected four times in five. */
    double detectable;
    double warm_up; /* what was gained in the skipped values */

    bool began;        /* it was flat up to `begin`, which is not the first value */
    bool stopped;      /* it is flat since `end`, which is not the last value */
    size_t begin, end; /* it grew between these values; both 0: it did not */
    double rate;       /* the slope between them, per unit of x */
    size_t rises;      /* number of all differences above zero */
    bool steady;       /* only ever rises, also in its later half, which new maxima do not */
    double fall;       /* the deepest fall below an earlier value */
    bool sure;         /* a ramp beyond what the interval leaves to chance among many series */
};

#define TREND_LEAST 4 /* the fewest values that say anything */

/* `x` NULL: 0, 1, 2, ... x must not fall. false: fewer than TREND_LEAST values, or x does not
 * rise. */
bool trend_of(struct trend *t, const double *y, const double *x, size_t count);
/* The slope from value `begin` to value `end`: of a line through all of them, or from the
 * difference of these two. */
double trend_slope(const double *y, const double *x, size_t begin, size_t end, bool fitted);
/* Half of the 95 % confidence interval of that slope; 0: too few values. */
double trend_error(const double *y, const double *x, size_t begin, size_t end, bool fitted);
/* The 97.5 % quantile of Student's t. */
double trend_quantile(double freedom);
const char *trend_model_name(enum trend_model m);

/* In trend_parts.c: finds whether a series grows in only one part of its length. */
struct trend_part {
    bool found;
    bool began, stopped; /* before it, or after it, there is a part in which it does not grow */
    size_t begin, end;
};
struct trend_part trend_part_of_rises(const double *y, const double *x, size_t count);
struct trend_part trend_part_of_line(const double *y, const double *x, size_t count);

#endif
