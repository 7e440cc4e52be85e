/*
 * threads_plot: live bytes of each thread over time, the process and its RSS beside them.
 */
#ifndef TIDE_EXPORT_THREADS_PLOT_H
#define TIDE_EXPORT_THREADS_PLOT_H

#include "analyse/threads.h"
#include "export/plot.h"

#define THREADS_DRAWN 14 /* those with the highest values; the others are one line */

struct threads_plot {
    struct plot plot;
    struct strbuf title, others;
};

/* `rebase`: subtracts what RSS was at the beginning. */
void threads_plot_init(struct threads_plot *p, const struct threads *t, bool rebase);
void threads_plot_release(struct threads_plot *p);
/* Every thread with its figures, one line each: what has no room in the picture. */
void threads_legend(const struct threads *t, struct strbuf *out);

#endif
