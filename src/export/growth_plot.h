/* growth_plot: the series of `tidemark growth` as a picture. */
#ifndef TIDE_EXPORT_GROWTH_PLOT_H
#define TIDE_EXPORT_GROWTH_PLOT_H

#include "analyse/growth.h"

/* Live bytes, RSS and VM over time, with marks as vertical lines. */
void growth_plot(const struct growth *g, struct strbuf *out);

#endif
