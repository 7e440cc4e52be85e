#include "analyse/trend.h"

#include <math.h>

/* A difference counts as a jump from this share of the largest difference on. */
#define JUMP_SHARE 0.01
/* If less than this share of the differences are jumps, the series rises in steps. */
#define STEPS_SHARE 0.5
#define POWER       0.84 /* normal quantile for a slope that is detected four times in five */
/* If the residuals are correlated more than this, the series is a random walk, not a line. */
#define WALK_CORRELATION 0.9
/* A series that falls by at most this share of what it rises counts as one that only rises. */
#define FALLS_SHARE 0.05
/* A smaller share of the sum of squared differences is rounding, not spread. */
#define ROUNDING_SHARE 1e-9
/* Values are skipped as a warm-up if those after it have at most this share of the spread of all;
 * otherwise noise may have chosen where the warm-up ends. */
#define WARM_UP_SHARE 0.7
/* Growth is steady if the later half gains at least this share of what the early half gained. */
#define LATE_SHARE 0.25
/* The same for the rest of a series that gained most of its size before. */
#define LATE_SHARE_FILLED 0.6
/* Steady growth needs so many rises in the later half. The running maximum of random sizes rises
 * there 0.7 times on average. */
#define LATE_LEAST 4
/* Only rises of at least this share of the mean rise are counted there. */
#define RISE_SHARE  0.25
#define STEPS_LEAST 3 /* a plateau after fewer rises counts as steps */
/* A sawtooth has so many falls of at least this share of its range. */
#define TEETH_LEAST 2
#define TOOTH_SHARE 0.4
/* Growth is certain if the slope is more than so many times half its 95 % interval. The many series
 * and functions of a recording are tested; a flat one should pass at most about once in ten
 * thousand times. */
#define SURE_FACTOR 2

const char *trend_model_name(enum trend_model m)
{
    static const char *const names[TREND_MODELS] = {[TREND_FLAT] = "flat",
                                                    [TREND_PLATEAU] = "plateau",
                                                    [TREND_STEPS] = "steps",
                                                    [TREND_RAMP] = "ramp",
                                                    [TREND_SAWTOOTH] = "sawtooth"};
    return names[m];
}

double trend_quantile(double freedom)
{
    static const double few[] = {12.706, 12.706, 4.303, 3.182, 2.776};
    /* Cornish and Fisher's expansion around the normal quantile; it is inaccurate below 5. */
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

/* The number of values to skip: from there on, the differences vary least around their common rate,
 * for their number. */
static size_t warm_up(const struct series *s)
{
    size_t n = s->count - 1, best = 0;
    double least = INFINITY, score = 0;
    double sum = 0, squares = 0, length = 0, lengths = 0, both = 0;
    for (size_t i = n; i-- > 0;) {
        double d = s->y[i + 1] - s->y[i], dx = s->x ? s->x[i + 1] - s->x[i] : 1;
        sum += d;
        squares += d * d;
        length += dx;
        lengths += dx * dx;
        both += d * dx;
        double m = (double)(n - i), rate = length > 0 ? sum / length : 0;
        double spread = squares - 2 * rate * both + rate * rate * lengths;
        if (i > n / 2)
            continue;
        score = (spread > ROUNDING_SHARE * squares ? spread : 0) / (m * m);
        if (score <= least) {
            least = score;
            best = i;
        }
    }
    return least <= WARM_UP_SHARE * score ? best
                                          : 0; /* the last score is that of the whole series */
}

static size_t count_jumps(const struct series *s)
{
    double most = 0;
    size_t jumps = 0;
    for (size_t i = 1; i < s->count; i++)
        most = fmax(most, fabs(s->y[i] - s->y[i - 1]));
    for (size_t i = 1; i < s->count; i++)
        jumps += fabs(s->y[i] - s->y[i - 1]) > JUMP_SHARE * most;
    return jumps;
}

/* Does it go in one direction only? Then the deviations from a line are not noise around it, but
 * growth in portions of different size: new maxima, for example. */
static bool one_way(const struct series *s)
{
    double up = 0, down = 0;
    for (size_t i = 1; i < s->count; i++) {
        up += fmax(s->y[i] - s->y[i - 1], 0);
        down += fmax(s->y[i - 1] - s->y[i], 0);
    }
    return fmin(up, down) <= FALLS_SHARE * fmax(up, down);
}

struct estimate {
    double slope, error, freedom;
};

/* Estimates from the differences: their sum, and how much they vary. */
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

/* Fits a line; *correlation is that of neighbouring residuals. */
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
    /* The number of independent values that would be worth as much. */
    double worth = fmax(3, n * (1 - r) / (1 + r));
    return (struct estimate){slope, sqrt(ee / (n - 2) / xx * (n / worth)), fmax(1, worth - 2)};
}

static bool late_half_grows(const struct series *s, double slope, double share)
{
    size_t last = s->count - 1, middle = last / 2;
    while (s->x && middle + 1 < last && at(s, middle) - at(s, 0) < at(s, last) - at(s, middle))
        middle++;
    while (s->x && middle > 1 && at(s, middle) - at(s, 0) > at(s, last) - at(s, middle))
        middle--;
    double early = s->y[middle] - s->y[0], late = s->y[last] - s->y[middle];
    return slope > 0 ? late >= share * early : late <= share * early;
}

/* The deepest fall below an earlier value. */
static double deepest_fall(const double *y, size_t count)
{
    double highest = y[0], fall = 0;
    for (size_t i = 1; i < count; i++) {
        highest = fmax(highest, y[i]);
        fall = fmax(fall, highest - y[i]);
    }
    return fall;
}

static bool is_sawtooth(const double *y, size_t count)
{
    double low = y[0], high = y[0], top = y[0], bottom = y[0];
    size_t teeth = 0;
    bool falling = false;
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    double tooth = TOOTH_SHARE * (high - low);
    for (size_t i = 1; i < count && tooth > 0; i++) {
        top = falling ? top : fmax(top, y[i]);
        bottom = falling ? fmin(bottom, y[i]) : bottom;
        if (!falling && top - y[i] >= tooth) {
            falling = true;
            bottom = y[i];
            teeth++;
        } else if (falling && y[i] - bottom >= tooth) {
            falling = false;
            top = y[i];
        }
    }
    return teeth >= TEETH_LEAST;
}

static size_t count_rises(const struct series *s, size_t from)
{
    size_t rises = 0;
    for (size_t i = from + 1; i < s->count; i++)
        rises += s->y[i] > s->y[i - 1];
    return rises;
}

/* Counts rises that are not far smaller than the others: a small rise at every event does not make
 * the gain of a few large ones steady. */
static size_t count_alike(const struct series *s, size_t from)
{
    double mean = (s->y[s->count - 1] - s->y[0]) / fmax((double)count_rises(s, 0), 1);
    size_t rises = 0;
    for (size_t i = from + 1; i < s->count; i++)
        rises += s->y[i] - s->y[i - 1] >= RISE_SHARE * mean;
    return rises;
}

/* Does it only ever rise, and about as much in its later half? */
static bool is_steady(const struct series *s)
{
    size_t late = s->count / 2;
    double x0 = at(s, 0), x1 = at(s, s->count - 1);
    while (s->x && late > 0 && at(s, late) - x0 > (x1 - x0) / 2)
        late--;
    return one_way(s) && s->y[s->count - 1] > s->y[0] && count_alike(s, late) >= LATE_LEAST &&
           late_half_grows(s, 1, LATE_SHARE);
}

/* Was it filled by more and larger rises than those that are left? The rest may be the last of
 * them: what is cached is requested again, and less and less is new. */
static bool is_filled(const struct series *all, size_t skipped)
{
    size_t left = count_rises(all, skipped), last = all->count - 1;
    return one_way(all) && count_rises(all, 0) - left > left &&
           all->y[skipped] - all->y[0] > all->y[last] - all->y[skipped];
}

static struct estimate estimate_between(const double *y, const double *x, size_t begin, size_t end,
                                        bool fitted)
{
    const struct series s = {y + begin, x ? x + begin : NULL, end - begin + 1};
    double correlation;
    if (end <= begin || !(at(&s, end - begin) > at(&s, 0)))
        return (struct estimate){0};
    return fitted ? by_line(&s, &correlation) : by_differences(&s);
}

double trend_slope(const double *y, const double *x, size_t begin, size_t end, bool fitted)
{
    return estimate_between(y, x, begin, end, fitted).slope;
}

double trend_error(const double *y, const double *x, size_t begin, size_t end, bool fitted)
{
    struct estimate e = estimate_between(y, x, begin, end, fitted);
    return end - begin + 1 < TREND_LEAST || e.freedom < 1 ? 0 : trend_quantile(e.freedom) * e.error;
}

/* Which part of it grows, if it is not the whole series. */
static struct trend_part part_of(const struct series *s)
{
    return one_way(s) ? trend_part_of_rises(s->y, s->x, s->count)
                      : trend_part_of_line(s->y, s->x, s->count);
}

static void use_part(struct trend *t, const struct series *s, const struct trend_part *p)
{
    t->began = p->began;
    t->stopped = p->stopped;
    t->begin = p->begin;
    t->end = p->end;
    t->rate = trend_slope(s->y, s->x, p->begin, p->end, false);
    t->skipped = p->stopped ? p->end : p->begin;
}

static bool too_short(const struct series *s, size_t skipped)
{
    return s->count - skipped < TREND_LEAST || (s->x && s->x[s->count - 1] <= s->x[skipped]);
}

bool trend_of(struct trend *t, const double *y, const double *x, size_t count)
{
    *t = (struct trend){0};
    if (count < TREND_LEAST || (x && x[count - 1] <= x[0]))
        return false;
    struct series all = {y, x, count};
    struct trend_part part = part_of(&all);
    if (part.found)
        use_part(t, &all, &part);
    else
        t->skipped = warm_up(&all);
    if (too_short(&all, t->skipped))
        t->skipped = part.found && part.stopped ? count - TREND_LEAST : 0;
    if (too_short(&all, t->skipped))
        t->skipped = 0;
    t->warm_up = y[t->skipped] - y[0];
    t->rises = count_rises(&all, 0);
    t->fall = deepest_fall(y, count);
    struct series s = {y + t->skipped, x ? x + t->skipped : NULL, count - t->skipped};
    t->used = s.count;
    t->jumps = count_jumps(&s);
    bool filled = is_filled(&all, t->skipped);
    t->steady = is_steady(&s) && !filled;
    bool steps = (double)t->jumps < STEPS_SHARE * (double)(s.count - 1);
    double correlation = 0;
    struct estimate e = steps ? by_differences(&s) : by_line(&s, &correlation);
    t->fitted = !steps && correlation <= WALK_CORRELATION && !one_way(&s);
    if (!t->fitted)
        e = by_differences(&s);
    double q = trend_quantile(e.freedom);
    t->slope = e.slope;
    t->low = e.slope - q * e.error;
    t->high = e.slope + q * e.error;
    t->detectable = (q + POWER) * e.error;
    bool parts = t->jumps && (steps || one_way(&s));
    bool ramp = t->low > 0 || t->high < 0;
    if (ramp && parts && !late_half_grows(&s, t->slope, filled ? LATE_SHARE_FILLED : LATE_SHARE))
        ramp = false;
    t->sure = ramp && fabs(t->slope) > SURE_FACTOR * (t->slope - t->low);
    bool stopped = t->stopped && t->rate > 0 && !t->sure;
    t->model = stopped && (t->rises >= STEPS_LEAST || !one_way(&all)) ? TREND_PLATEAU
               : ramp                                                 ? TREND_RAMP
               : is_sawtooth(y, count)                                ? TREND_SAWTOOTH
               : parts                                                ? TREND_STEPS
               : t->skipped && t->warm_up != 0                        ? TREND_PLATEAU
                                                                      : TREND_FLAT;
    if (t->model == TREND_RAMP && t->stopped)
        t->stopped = t->began = false; /* it continues after all, and grew more before */
    if (t->model == TREND_RAMP) {      /* the last part is what grows, and has one rate */
        t->began = t->began && t->begin == t->skipped;
        t->begin = t->skipped;
        t->end = count - 1;
        t->rate = t->slope;
    } else if (!part.found && t->model == TREND_PLATEAU) {
        t->end = t->skipped;
        t->rate = trend_slope(y, x, 0, t->end, false);
        t->stopped = true;
    }
    return true;
}
