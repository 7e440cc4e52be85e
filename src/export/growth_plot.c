#include "export/growth_plot.h"

#include <stdlib.h>

#include "base/say.h"
#include "export/plot.h"
#include "answer/findings.h"
#include "answer/growth.h"
#include "answer/summary.h"

#define SITES_NOTED 5

/* Adds the line that was fitted to a series while it grew. It was fitted by marks, so over time it
 * bends if the marks are not evenly spaced. */
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
                 mean - y[0] + t->rate * (growth_span(g, t->begin, k) - middle));
}

static char *fit_name(const struct growth *g, int line, const char *name)
{
    struct strbuf text = {0};
    say(&text, "%r, fitted: %+B per %s", name, g->trends[line].rate, growth_per(g));
    return strbuf_detach(&text);
}

/* The name includes where the line begins: growth of a large heap would not be visible above 0. */
static char *line_name(const struct growth *g, int line, const char *name)
{
    struct strbuf text = {0};
    say(&text, "%r, from %B", name, (int64_t)g->series[line][0]);
    return strbuf_detach(&text);
}

static char *site_note(const struct growth *g, const struct growth_site *s)
{
    struct strbuf text = {0};
    say(&text, "%+B per %s: ", s->trend.slope, growth_per(g));
    place_function(growth_places(g, s->domain), s->call, &text);
    place_words(growth_places(g, s->domain), s->call, &text);
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
        *vec_push(&labels) = g->count ? line_name(g, line, names[line]) : xstrdup(names[line]);
        struct plot_line *l = plot_add(&plot, *vec_last(&labels));
        l->strong = line == GROWTH_LIVE;
        l->below = line == GROWTH_VM;
        l->steps = true; /* between two marks only the value at the first is known */
        for (size_t k = 0; k < g->count; k++)
            plot_put(l, (double)g->stamp[k]->time_ns / 1e9,
                     g->series[line][k] - g->series[line][0]);
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
    *vec_push(&plot.notes) = "Each line begins at 0, and shows what came to it since.";
    for (size_t i = 0; i < g->sites.count && i < SITES_NOTED; i++) {
        *vec_push(&labels) = site_note(g, &g->sites.items[i]);
        *vec_push(&plot.notes) = *vec_last(&labels);
    }
    plot_svg(&plot, out);
    plot_release(&plot);
    for (size_t i = 0; i < labels.count; i++)
        free(labels.items[i]);
    vec_release(&labels);
    strbuf_release(&title);
    strbuf_release(&subtitle);
}
