#include "analyse/trend.h"

#include <math.h>

#define NOTHING   0.01 /* of the largest difference: about nothing */
#define MOSTLY    0.5  /* of the differences are nothing: a series of steps */
#define POWER     0.84 /* normal quantile: four times in five */
#define WALK      0.9  /* correlation of residuals: no line has noise like that */
#define FALLS     0.05 /* of what a series rises: less is no noise, it only ever rises */
#define WARMER    0.7  /* of the spread of all: where more is left, noise has chosen, not warm-up */
#define LATE_HALF 0.25 /* of what the early half gained: less is no ramp */

const char *trend_model_name(enum trend_model m)
{
    static const char *const names[TREND_MODELS] = {[TREND_FLAT] = "flat",
                                                    [TREND_PLATEAU] = "plateau",
                                                    [TREND_STEPS] = "steps",
                                                    [TREND_RAMP] = "ramp"};
    return names[m];
}

double trend_quantile(double freedom)
{
    static const double few[] = {12.706, 12.706, 4.303, 3.182, 2.776};
    /* Cornish and Fisher's expansion around the normal quantile; it is bad below 5. */
    const double z = 1.959964, v = freedom;
    if (v < 5)
        return few[(size_t)v];
    return z + (pow(z, 3) + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v) +
           (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / (384 * pow(v, 3));
}

struct series {
    const double *y, *x;
    size_t count;
};

static double at(const struct series *s, size_t i)
{
    return s->x ? s->x[i] : (double)i;
}

/* The number of values to skip: where the spread of the later differences, for their number, is
 * least. */
static size_t warm_up(const struct series *s)
{
    size_t n = s->count - 1, best = 0;
    double least = INFINITY, sum = 0, squares = 0, score = 0;
    for (size_t i = n; i-- > 0;) {
        double d = s->y[i + 1] - s->y[i];
        sum += d;
        squares += d * d;
        double m = (double)(n - i), spread = squares - sum * sum / m;
        if (i > n / 2)
            continue;
        score = (spread > 0 ? spread : 0) / (m * m);
        if (score <= least) {
            least = score;
            best = i;
        }
    }
    return least <= WARMER * score ? best : 0; /* the last score is that of all */
}

static size_t count_jumps(const struct series *s)
{
    double most = 0;
    size_t jumps = 0;
    for (size_t i = 1; i < s->count; i++)
        most = fmax(most, fabs(s->y[i] - s->y[i - 1]));
    for (size_t i = 1; i < s->count; i++)
        jumps += fabs(s->y[i] - s->y[i - 1]) > NOTHING * most;
    return jumps;
}

/* Does it go one way only? Then what differs from a line is not noise around it, but growth that
 * comes in parts of different size: new maxima, for one. */
static bool one_way(const struct series *s)
{
    double up = 0, down = 0;
    for (size_t i = 1; i < s->count; i++) {
        up += fmax(s->y[i] - s->y[i - 1], 0);
        down += fmax(s->y[i - 1] - s->y[i], 0);
    }
    return fmin(up, down) <= FALLS * fmax(up, down);
}

struct estimate {
    double slope, error, freedom;
};

/* From the differences: what they add up to, and how unlike each other they are. */
static struct estimate by_differences(const struct series *s)
{
    size_t m = s->count - 1;
    double span = at(s, m) - at(s, 0), slope = (s->y[m] - s->y[0]) / span, squares = 0;
    for (size_t i = 1; i <= m; i++) {
        double e = s->y[i] - s->y[i - 1] - slope * (at(s, i) - at(s, i - 1));
        squares += e * e;
    }
    return (struct estimate){slope, sqrt(squares * (double)m / (double)(m - 1)) / span,
                             (double)(m - 1)};
}

/* A line, with the correlation of neighbouring residuals in *correlation. */
static struct estimate by_line(const struct series *s, double *correlation)
{
    double n = (double)s->count, mx = 0, my = 0, xx = 0, xy = 0, ee = 0, lagged = 0, last = 0;
    for (size_t i = 0; i < s->count; i++) {
        mx += at(s, i) / n;
        my += s->y[i] / n;
    }
    for (size_t i = 0; i < s->count; i++) {
        xx += (at(s, i) - mx) * (at(s, i) - mx);
        xy += (at(s, i) - mx) * (s->y[i] - my);
    }
    double slope = xy / xx;
    for (size_t i = 0; i < s->count; i++) {
        double e = s->y[i] - my - slope * (at(s, i) - mx);
        ee += e * e;
        lagged += i ? e * last : 0;
        last = e;
    }
    double r = ee > 0 ? lagged / ee : 0;
    *correlation = r;
    r = fmin(fmax(r, 0), 0.99);
    double worth = fmax(3, n * (1 - r) / (1 + r)); /* as many values as would be independent */
    return (struct estimate){slope, sqrt(ee / (n - 2) / xx * (n / worth)), fmax(1, worth - 2)};
}

static bool late_half_grows(const struct series *s, double slope)
{
    size_t last = s->count - 1, middle = last / 2;
    while (s->x && middle + 1 < last && at(s, middle) - at(s, 0) < at(s, last) - at(s, middle))
        middle++;
    while (s->x && middle > 1 && at(s, middle) - at(s, 0) > at(s, last) - at(s, middle))
        middle--;
    double early = s->y[middle] - s->y[0], late = s->y[last] - s->y[middle];
    return slope > 0 ? late >= LATE_HALF * early : late <= LATE_HALF * early;
}

bool trend_of(struct trend *t, const double *y, const double *x, size_t count)
{
    *t = (struct trend){0};
    if (count < TREND_LEAST || (x && x[count - 1] <= x[0]))
        return false;
    struct series all = {y, x, count};
    t->skipped = warm_up(&all);
    if (count - t->skipped < TREND_LEAST || (x && x[count - 1] <= x[t->skipped]))
        t->skipped = 0;
    t->warm_up = y[t->skipped] - y[0];
    struct series s = {y + t->skipped, x ? x + t->skipped : NULL, count - t->skipped};
    t->used = s.count;
    t->jumps = count_jumps(&s);
    bool steps = (double)t->jumps < MOSTLY * (double)(s.count - 1);
    double correlation = 0;
    struct estimate e = steps ? by_differences(&s) : by_line(&s, &correlation);
    if (!steps && (correlation > WALK || one_way(&s)))
        e = by_differences(&s);
    double q = trend_quantile(e.freedom);
    t->slope = e.slope;
    t->low = e.slope - q * e.error;
    t->high = e.slope + q * e.error;
    t->detectable = (q + POWER) * e.error;
    bool parts = t->jumps && (steps || one_way(&s));
    bool sure = t->low > 0 || t->high < 0;
    if (sure && parts && !late_half_grows(&s, t->slope))
        sure = false;
    t->model = sure                            ? TREND_RAMP
               : parts                         ? TREND_STEPS
               : t->skipped && t->warm_up != 0 ? TREND_PLATEAU
                                               : TREND_FLAT;
    return true;
}
