#include "export/threads_plot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/say.h"
#include "answer/summary.h"

static struct plot_line *add_line(struct plot *p, const char *name, const struct threads *t,
                                  const int64_t *values)
{
    struct plot_line *l = plot_add(p, name);
    l->steps = true; /* what is live stays live until something happens */
    for (size_t i = 0; i < t->moments; i++)
        plot_put(l, (double)t->time_ns[i] / 1e9, (double)values[i]);
    return l;
}

static void add_rss(struct plot *p, const struct threads *t, bool rebase)
{
    const struct profile *profile = t->profile;
    struct plot_line *l =
        plot_add(p, rebase ? "RSS of the process, rebased" : "RSS of the process");
    uint64_t base = 0;
    l->steps = true;
    for (size_t i = 0; i < profile->stamps.count; i++) {
        const struct stamp *s = &profile->stamps.items[i];
        if (s->time_ns < t->window.since.time_ns || s->time_ns > t->window.at.time_ns)
            continue;
        if (rebase && !l->points.count)
            base = s->rss_bytes;
        plot_put(l, (double)s->time_ns / 1e9, (double)s->rss_bytes - (double)base);
    }
}

void threads_plot_init(struct threads_plot *p, const struct threads *t, bool rebase)
{
    *p =
        (struct threads_plot){.plot = {.x_unit = PLOT_SECONDS,
                                       .y_unit = PLOT_BYTES,
                                       .x_title = "seconds since the start",
                                       .subtitle = "live bytes, by the thread that allocated them",
                                       .panel_titles = {NULL, "threads, on a scale of their own"}}};
    summary_command(t->profile, 90, &p->title);
    p->plot.title = p->title.data;
    add_line(&p->plot, t->part ? "heap of the process, as filtered" : "heap of the process", t,
             t->process)
        ->strong = true;
    add_rss(&p->plot, t, rebase);
    size_t shown = t->lines.count <= THREADS_DRAWN + 1 ? t->lines.count : THREADS_DRAWN;
    for (size_t i = 0; i < shown; i++)
        add_line(&p->plot, t->lines.items[i].name, t, t->lines.items[i].live)->below = true;
    if (shown < t->lines.count) {
        int64_t *sum = xcalloc(t->moments, sizeof *sum);
        for (size_t i = shown; i < t->lines.count; i++)
            for (size_t k = 0; k < t->moments; k++)
                sum[k] = wrapped(sum[k], t->lines.items[i].live[k]);
        strbuf_printf(&p->others, "%zu other threads, together", t->lines.count - shown);
        add_line(&p->plot, p->others.data, t, sum);
        free(sum);
    }
    for (size_t i = 0; i < t->profile->marks.count; i++) {
        const struct mark *m = &t->profile->marks.items[i];
        if (m->stamp.time_ns >= t->window.since.time_ns && m->stamp.time_ns <= t->window.at.time_ns)
            *vec_push(&p->plot.marks) = (struct plot_mark){(double)m->stamp.time_ns / 1e9, m->name};
    }
}

void threads_plot_release(struct threads_plot *p)
{
    plot_release(&p->plot);
    strbuf_release(&p->title);
    strbuf_release(&p->others);
}

void threads_legend(const struct threads *t, struct strbuf *out)
{
    for (size_t i = 0; i < t->lines.count; i++) {
        const struct timeline_line *l = &t->lines.items[i];
        say(out, "%d: %s highest %d live %d allocated %d\n", i + 1, l->name, l->highest_bytes,
            l->live_bytes, l->allocated_bytes);
    }
}
