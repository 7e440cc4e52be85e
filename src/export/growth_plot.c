#include "export/growth_plot.h"

#include <stdlib.h>

#include "export/plot.h"
#include "report/growth.h"
#include "report/summary.h"

void growth_plot(const struct growth *g, struct strbuf *out)
{
    static const char *const names[GROWTH_SHOWN] = {"live heap", "RSS", "VM"};
    struct strbuf title = {0}, subtitle = {0};
    VEC(char *) labels = {0};
    const char *verdict = growth_verdict_name(g->verdict);
    summary_command(g->places.total.profile, 90, &title);
    strbuf_printf(&subtitle, "%s%s", verdict ? verdict : "", verdict ? ": " : "");
    growth_answer(g, &subtitle);
    struct plot plot = {.title = title.data,
                        .subtitle = subtitle.data,
                        .x_unit = PLOT_SECONDS,
                        .y_unit = PLOT_BYTES,
                        .x_title = "seconds since the start",
                        .panel_titles = {NULL, "VM, on a scale of its own"}};
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        struct plot_line *l = plot_add(&plot, names[line]);
        l->strong = line == GROWTH_LIVE;
        l->below = line == GROWTH_VM;
        for (size_t k = 0; k < g->count; k++)
            plot_put(l, (double)g->stamp[k]->time_ns / 1e9, g->series[line][k]);
    }
    for (size_t k = 0; g->mark && k < g->count; k++) {
        char *label = xasprintf("%s#%zu", g->mark, k + 1);
        *vec_push(&labels) = label;
        *vec_push(&plot.marks) = (struct plot_mark){(double)g->stamp[k]->time_ns / 1e9, label};
    }
    plot_svg(&plot, out);
    plot_release(&plot);
    for (size_t i = 0; i < labels.count; i++)
        free(labels.items[i]);
    vec_release(&labels);
    strbuf_release(&title);
    strbuf_release(&subtitle);
}
