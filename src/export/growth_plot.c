#include "export/growth_plot.h"

#include <math.h>
#include <stdlib.h>

#include "base/say.h"
#include "export/plot.h"
#include "answer/growth.h"
#include "answer/summary.h"

/* The line that was fitted to a series while it grew, by marks: over time it bends where they are
 * not evenly apart. */
static void add_fit(struct plot *plot, const struct growth *g, int line, char *name)
{
    const struct trend *t = &g->trends[line];
    const double *y = g->series[line];
    double n = (double)(t->end - t->begin + 1), middle = 0, mean = 0;
    for (size_t k = t->begin; k <= t->end; k++) {
        middle += growth_span(g, t->begin, k) / n;
        mean += y[k] / n;
    }
    struct plot_line *l = plot_add(plot, name);
    l->below = line == GROWTH_VM;
    for (size_t k = t->begin; k <= t->end; k++)
        plot_put(l, (double)g->stamp[k]->time_ns / 1e9,
                 mean + t->rate * (growth_span(g, t->begin, k) - middle));
}

static char *fit_name(const struct growth *g, int line, const char *name)
{
    struct strbuf text = {0};
    say(&text, "%r, fitted: %+B per %s", name, g->trends[line].rate, growth_per(g));
    return strbuf_detach(&text);
}

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
    for (int line = 0; line < GROWTH_SHOWN; line++) {
        const struct trend *t = &g->trends[line];
        if (!g->known || t->end <= t->begin ||
            (t->model != TREND_RAMP && t->model != TREND_PLATEAU))
            continue;
        *vec_push(&labels) = fit_name(g, line, names[line]);
        add_fit(&plot, g, line, *vec_last(&labels));
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
