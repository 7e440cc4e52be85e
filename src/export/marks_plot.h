/*
 * marks_plot: the rows of `tidemark marks` as a picture, as data for gnuplot, and as an array that
 * numpy.load reads.
 */
#ifndef TIDE_EXPORT_MARKS_PLOT_H
#define TIDE_EXPORT_MARKS_PLOT_H

#include "model/mark_rows.h"

/* VM, RSS, anonymous RSS and live bytes over time, with marks as vertical lines. */
void marks_plot(const struct mark_rows *m, struct strbuf *out);
void marks_gnuplot(const struct mark_rows *m, struct strbuf *out);
/* A structured array: label (64 bytes), then int64 fields; and a float64 for each key of values,
 * NaN if a mark has none. */
void marks_npy(const struct mark_rows *m, struct strbuf *out);

#endif
