/*
 * Finds which part of a series grows, if the rest is flat; trend.c says how much it grows there.
 *
 * If a series only ever rises, its rises are counted. If they could be anywhere in the run with the
 * same probability, all of them would be in a fraction f of it with the probability f to the power
 * of their number. The sizes of the rises do not matter, nor whether every event has one.
 *
 * If a series is noisy, three bent lines are fitted besides the straight one: flat and then a ramp,
 * a ramp and then flat, and a step. Each has one parameter more than the line: where it bends.
 * Neighbouring values are alike (an event's memory still exists in the next), so they count for
 * fewer than they are.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/trend.h"
#include "base/vec.h"

#define CHANCE     0.001 /* the probability that all rises are where they are */
#define BENT_LEAST 12    /* values that are needed to find a bend below noise */
#define MEANS      256 /* more values are averaged to so many: the bend need not be known better */
/* The F value of a bent line against a straight one from which on it is accepted. */
#define BETTER 30

static double at(const double *x, size_t i)
{
    return x ? x[i] : (double)i;
}

static bool only_here(double part, double whole, size_t rises)
{
    return rises >= 2 && whole > 0 && part < whole &&
           (double)rises * log(fmax(part, 1e-9) / whole) < log(CHANCE);
}

struct trend_part trend_part_of_rises(const double *y, const double *x, size_t count)
{
    struct trend_part p = {.begin = 0, .end = count - 1};
    size_t first = 0, last = 0, rises = 0;
    for (size_t i = 1; i < count; i++)
        if (y[i] > y[i - 1]) {
            first = rises++ ? first : i - 1;
            last = i;
        }
    if (!rises)
        return p;
    /* The first rise defines where the part begins, so it is no evidence itself. */
    double length = at(x, last) - at(x, first);
    p.began = only_here(length, at(x, last) - at(x, 0), rises - 1);
    p.stopped = only_here(length, at(x, count - 1) - at(x, first), rises - 1);
    p.found = p.began || p.stopped;
    p.begin = p.began ? first : 0;
    p.end = p.stopped ? last : count - 1;
    return p;
}

struct fit {
    double base, slope, squares; /* y = base + slope * h; sum of squared residuals */
    size_t bend;
    enum { FIT_LINE, FIT_LATE, FIT_EARLY, FIT_STEP, FITS } form;
};

/* The regressor of a form that bends at value `bend`. */
static double regressor(const double *x, size_t i, int form, size_t bend)
{
    double v = at(x, i), knot = at(x, bend);
    return form == FIT_LINE    ? v
           : form == FIT_LATE  ? fmax(v - knot, 0)
           : form == FIT_EARLY ? fmin(v, knot)
                               : (i > bend ? 1 : 0);
}

static struct fit fit_form(const double *y, const double *x, size_t count, int form, size_t bend)
{
    double n = (double)count, mh = 0, my = 0, hh = 0, hy = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        mh += regressor(x, i, form, bend) / n;
        my += y[i] / n;
    }
    for (size_t i = 0; i < count; i++) {
        double h = regressor(x, i, form, bend) - mh, v = y[i] - my;
        hh += h * h;
        hy += h * v;
        yy += v * v;
    }
    struct fit f = {.bend = bend, .form = form};
    f.slope = hh > 0 ? hy / hh : 0;
    f.base = my - f.slope * mh;
    f.squares = fmax(yy - f.slope * hy, 0);
    return f;
}

/* The number of independent values that would be worth as much. */
static double worth(const double *y, const double *x, size_t count, const struct fit *f)
{
    double ee = 0, lagged = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        double e = y[i] - f->base - f->slope * regressor(x, i, f->form, f->bend);
        ee += e * e;
        lagged += i ? e * last : 0;
        last = e;
    }
    double r = ee > 0 ? fmin(fmax(lagged / ee, 0), 0.95) : 0;
    return (double)count * (1 - r) / (1 + r);
}

static struct trend_part bent(const double *y, const double *x, size_t count)
{
    struct trend_part p = {.begin = 0, .end = count - 1};
    if (count < BENT_LEAST)
        return p;
    struct fit line = fit_form(y, x, count, FIT_LINE, 0), best = line;
    size_t edge = count / 8 > 3 ? count / 8 : 3;
    for (int form = FIT_LATE; form < FITS; form++)
        for (size_t bend = edge; bend + edge < count; bend++) {
            struct fit f = fit_form(y, x, count, form, bend);
            if (f.squares < best.squares)
                best = f;
        }
    double freedom = fmax(worth(y, x, count, &best) - 3, 1);
    if (best.form == FIT_LINE ||
        line.squares - best.squares <= BETTER * fmax(best.squares, 1e-9 * line.squares) / freedom)
        return p;
    p.found = true;
    p.began = best.form != FIT_EARLY;
    p.stopped = best.form != FIT_LATE;
    p.begin = p.began ? best.bend : 0;
    p.end = best.form == FIT_EARLY ? best.bend : best.form == FIT_STEP ? best.bend + 1 : count - 1;
    return p;
}

struct trend_part trend_part_of_line(const double *y, const double *x, size_t count)
{
    if (count <= MEANS)
        return bent(y, x, count);
    size_t step = (count + MEANS - 1) / MEANS, means = count / step;
    double *my = xcalloc(2 * means, sizeof *my), *mx = my + means;
    for (size_t i = 0; i < means * step; i++) {
        my[i / step] += y[i] / (double)step;
        mx[i / step] += at(x, i) / (double)step;
    }
    struct trend_part p = bent(my, mx, means);
    p.begin = p.began ? p.begin * step + step / 2 : 0;
    p.end = p.stopped ? p.end * step + step / 2 : count - 1;
    free(my);
    return p;
}
