#include "export/plot.h"

struct plot_line *plot_add(struct plot *p, const char *name)
{
    struct plot_line *l = vec_push(&p->lines);
    *l = (struct plot_line){.name = name};
    return l;
}

void plot_put(struct plot_line *l, double x, double y)
{
    *vec_push(&l->points) = (struct plot_point){x, y};
}

void plot_release(struct plot *p)
{
    for (size_t i = 0; i < p->lines.count; i++)
        vec_release(&p->lines.items[i].points);
    vec_release(&p->lines);
    vec_release(&p->marks);
    vec_release(&p->peaks);
    vec_release(&p->notes);
}

void plot_gnuplot(const struct plot *p, struct strbuf *out)
{
    strbuf_printf(out, "# %s\n# x: %s; y: %s\n", p->title, p->x_title,
                  p->y_unit == PLOT_BYTES ? "bytes" : "count");
    for (size_t i = 0; i < p->lines.count; i++) {
        const struct plot_line *l = &p->lines.items[i];
        strbuf_printf(out, "%s\"", i ? "\n\n" : "");
        for (const char *c = l->name; *c;
             c++) /* its first line is the key of `set key autotitle` */
            strbuf_putc(out, *c == '"' || *c == '\n' ? '\'' : *c);
        strbuf_puts(out, "\"\n");
        for (size_t k = 0; k < l->points.count; k++)
            strbuf_printf(out, "%.9g %.17g\n", l->points.items[k].x, l->points.items[k].y);
    }
}
