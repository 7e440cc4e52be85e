/*
 * plot: lines over time as one SVG file, or as data for gnuplot.
 *
 * Lines are given as points. A line is drawn as steps if its value holds until the next point.
 * Vertical lines stand for marks, numbered points for peaks. The picture is legible on a phone and
 * in print: its script changes the layout for a narrow window, and lines differ in dashes as well
 * as in colour. Lines that are much lower than others would be on the axis: such a line can ask to
 * be drawn below the others, on a scale of its own.
 *
 * Ownership: names and labels are borrowed; points are copied. plot_release frees the rest.
 */
#ifndef TIDE_EXPORT_PLOT_H
#define TIDE_EXPORT_PLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

struct plot_point {
    double x, y;
};

struct plot_line {
    const char *name;
    bool steps;  /* otherwise straight from point to point */
    bool strong; /* a thicker line, in black: the process among its threads */
    bool below;  /* drawn below the other lines, if the two kinds differ much in size */
    VEC(struct plot_point) points;
};

/* A moment with a name. */
struct plot_mark {
    double x;
    const char *label;
};

/* A point with a number beside it. */
struct plot_peak {
    double x, y;
    unsigned number;
    bool below;       /* as for its line */
    const char *text; /* shown when hovered over */
};

enum plot_unit { PLOT_BYTES, PLOT_COUNT, PLOT_SECONDS };

struct plot {
    const char *title, *subtitle;
    enum plot_unit x_unit, y_unit;
    const char *x_title;
    const char *panel_titles[2]; /* if there are two panels; NULL: none */
    VEC(struct plot_line) lines;
    VEC(struct plot_mark) marks;
    VEC(struct plot_peak) peaks;
    VEC(const char *) notes; /* lines of text below the legend */
};

struct plot_line *plot_add(struct plot *p, const char *name);
void plot_put(struct plot_line *l, double x, double y);
void plot_svg(const struct plot *p, struct strbuf *out);
/* One block of "x y" for each line, with its name in a comment above; blocks are separated for
 * gnuplot's `index`. */
void plot_gnuplot(const struct plot *p, struct strbuf *out);
void plot_release(struct plot *p);

#endif
