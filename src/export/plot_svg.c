/* Lines over time as one SVG file. */
#include <math.h>
#include <string.h>

#include "export/plot.h"
#include "export/script.h"
#include "export/svg.h"

#define WIDTH  1000
#define LEFT   86
#define RIGHT  40
#define TOP    58
#define BOTTOM 46
#define LEGEND 20 /* height of a row */
#define LETTER 7.3

/* One panel, or two with a gap between them. */
#define ALONE_H 400
#define UPPER_H 290
#define LOWER_H 190
#define GAP     22
#define APART   4 /* if the lines of one kind are so many times higher, there are two panels */

#define MARKS_NAMED 30   /* more names would overlap, */
#define TICK        7    /* and are replaced by ticks at the bottom */
#define DRAWN       2000 /* points of a line: more than there are columns of pixels */

static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#7b4fa3", "#8c564b",
                                     "#1b7837", "#b2182b", "#2166ac", "#666666"};
static const char *const dashes[] = {"", "7 3", "2 2", "9 3 2 3"};
#define COLORS (sizeof colors / sizeof *colors)
#define DASHES (sizeof dashes / sizeof *dashes)

/* What is shown of one axis. */
#define TICKS_MOST 64 /* far more than an axis has if its numbers make sense */

struct axis {
    double low, high, step;
    enum plot_unit unit;
};

struct panel {
    double top, bottom;
    struct axis y;
};

struct layout {
    struct axis x;
    struct panel panels[2];
    unsigned count; /* number of panels */
};

static const struct panel *panel_of(const struct layout *o, bool below)
{
    return &o->panels[below && o->count > 1];
}

static double bottom_of(const struct layout *o)
{
    return o->panels[o->count - 1].bottom;
}

static double x_pixel(const struct axis *a, double x)
{
    return LEFT + (x - a->low) / (a->high - a->low) * (WIDTH - LEFT - RIGHT);
}

static double y_pixel(const struct panel *p, double y)
{
    return p->bottom - (y - p->y.low) / (p->y.high - p->y.low) * (p->bottom - p->top);
}

/* A step of which about `wanted` fit: 1, 2 or 5 times a power of ten; for bytes, of two. */
static double nice_step(double span, double wanted, enum plot_unit unit)
{
    double rough = span / wanted;
    if (!(rough > 0))
        return 1;
    if (unit == PLOT_BYTES)
        return fmax(1, pow(2, ceil(log2(rough))));
    double power = pow(10, floor(log10(rough)));
    double step = rough <= power       ? power
                  : rough <= 2 * power ? 2 * power
                  : rough <= 5 * power ? 5 * power
                                       : 10 * power;
    return unit == PLOT_COUNT ? fmax(1, step) : step;
}

static void widen(struct axis *a, double value)
{
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

static void widen_to(struct axis *a, const struct axis *other)
{
    widen(a, other->low);
    widen(a, other->high);
}

static void settle(struct axis *y, double steps)
{
    if (y->high <= y->low)
        y->high = y->low + 1;
    y->step = nice_step(y->high - y->low, steps, y->unit);
    y->high = ceil(y->high / y->step) * y->step;
    y->low = floor(y->low / y->step) * y->step;
}

/* Would one of the two be drawn on the axis? */
static bool differ(const struct axis *a, const struct axis *b)
{
    double x = a->high - a->low, y = b->high - b->low;
    return x > 0 && y > 0 && (x > APART * y || y > APART * x);
}

static void find_layout(const struct plot *p, struct layout *o)
{
    struct axis *x = &o->x, y[2] = {{.unit = p->y_unit}, {.unit = p->y_unit}};
    *o = (struct layout){.x = {.low = INFINITY, .high = -INFINITY, .unit = p->x_unit}};
    for (size_t i = 0; i < p->lines.count; i++)
        for (size_t k = 0; k < p->lines.items[i].points.count; k++) {
            widen(x, p->lines.items[i].points.items[k].x);
            widen(&y[p->lines.items[i].below], p->lines.items[i].points.items[k].y);
        }
    if (!(x->low < x->high)) {
        x->low = x->low == INFINITY ? 0 : x->low;
        x->high = x->low + 1;
    }
    x->step = nice_step(x->high - x->low, 8, x->unit);
    o->count = differ(&y[0], &y[1]) ? 2 : 1;
    if (o->count == 1)
        widen_to(&y[0], &y[1]);
    o->panels[0] = (struct panel){TOP, TOP + (o->count == 1 ? ALONE_H : UPPER_H), y[0]};
    o->panels[1] = (struct panel){TOP + UPPER_H + GAP, TOP + UPPER_H + GAP + LOWER_H, y[1]};
    settle(&o->panels[0].y, o->count == 1 ? 6 : 4);
    settle(&o->panels[1].y, 3);
}

static void put_amount(struct strbuf *out, double value, const struct axis *a)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    if (a->unit == PLOT_BYTES) {
        size_t u = 0;
        for (; fabs(value) >= 1024 && u + 1 < sizeof units / sizeof *units; u++)
            value /= 1024;
        strbuf_printf(out, "%.4g %s", value, units[u]);
    } else {
        strbuf_printf(out, "%.6g%s", value, a->unit == PLOT_SECONDS ? " s" : "");
    }
}

static void put_grid(const struct plot *p, const struct layout *o, struct strbuf *out)
{
    struct strbuf text = {0};
    const struct axis *x = &o->x;
    double bottom = bottom_of(o);
    for (unsigned i = 0; i < o->count; i++) {
        const struct axis *y = &o->panels[i].y;
        for (unsigned n = 0; n < TICKS_MOST && y->low + n * y->step <= y->high + y->step / 2; n++) {
            double v = y->low + n * y->step;
            double at = y_pixel(&o->panels[i], v);
            strbuf_printf(out, "<path class=\"g\" d=\"M%d %.1fH%d\"/>\n", LEFT, at, WIDTH - RIGHT);
            strbuf_clear(&text);
            put_amount(&text, v, y);
            svg_label(out, LEFT - 8, at + 4, "class=\"yt\" text-anchor=\"end\"", text.data);
        }
    }
    double first = ceil(x->low / x->step) * x->step;
    for (unsigned n = 0; n < TICKS_MOST && first + n * x->step <= x->high + x->step / 1e6; n++) {
        double v = first + n * x->step;
        double at = x_pixel(x, v);
        for (unsigned i = 0; i < o->count; i++)
            strbuf_printf(out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>\n", at, o->panels[i].top,
                          o->panels[i].bottom);
        strbuf_clear(&text);
        put_amount(&text, fabs(v) < x->step / 1e6 ? 0 : v, x);
        svg_label(out, at, bottom + 18, "class=\"xt\" text-anchor=\"middle\"", text.data);
    }
    svg_label(out, (LEFT + WIDTH - RIGHT) / 2.0, bottom + 38, "class=\"c\" text-anchor=\"middle\"",
              p->x_title);
    strbuf_release(&text);
}

static void put_marks(const struct plot *p, const struct layout *o, struct strbuf *out)
{
    double top = p->marks.count > MARKS_NAMED ? bottom_of(o) - TICK : TOP;
    for (size_t i = 0; i < p->marks.count; i++) {
        const struct plot_mark *m = &p->marks.items[i];
        if (m->x < o->x.low || m->x > o->x.high)
            continue;
        double at = x_pixel(&o->x, m->x);
        strbuf_printf(out, "<path class=\"m\" d=\"M%.1f %.1fV%.1f\"><title>", at, top,
                      bottom_of(o));
        svg_text(out, m->label);
        strbuf_puts(out, "</title></path>\n");
    }
}

/* Above the lines, at the top, where there are fewer of them. */
static void put_mark_names(const struct plot *p, const struct layout *o, struct strbuf *out)
{
    for (size_t i = 0; i < p->marks.count && p->marks.count <= MARKS_NAMED; i++) {
        const struct plot_mark *m = &p->marks.items[i];
        if (m->x < o->x.low || m->x > o->x.high)
            continue;
        double at = x_pixel(&o->x, m->x);
        strbuf_printf(out,
                      "<text class=\"ml\" data-x=\"%.1f\" transform=\"translate(%.1f %d) "
                      "rotate(-90)\" text-anchor=\"end\">",
                      at, at - LEFT < 12 ? at + 10 : at - 3, TOP + 4);
        svg_text(out, m->label);
        strbuf_puts(out, "</text>\n");
    }
}

/* If a column of pixels has several points, draws only the lowest and the highest of each. */
static void put_points(const struct plot_line *l, const struct axis *x, const struct panel *panel,
                       struct strbuf *out)
{
    size_t n = l->points.count, each = n > DRAWN ? (n + DRAWN / 2 - 1) / (DRAWN / 2) : 1;
    double last = NAN;
    for (size_t i = 0; i < n; i += each) {
        size_t low = i, high = i, end = i + each < n ? i + each : n;
        for (size_t k = i; k < end; k++) {
            low = l->points.items[k].y < l->points.items[low].y ? k : low;
            high = l->points.items[k].y > l->points.items[high].y ? k : high;
        }
        size_t pair[2] = {low < high ? low : high, low < high ? high : low};
        for (int k = 0; k < (pair[0] == pair[1] ? 1 : 2); k++) {
            double px = x_pixel(x, l->points.items[pair[k]].x);
            double py = y_pixel(panel, l->points.items[pair[k]].y);
            if (l->steps && !isnan(last))
                strbuf_printf(out, "%.1f,%.1f ", px, last);
            strbuf_printf(out, "%.1f,%.1f ", px, py);
            last = py;
        }
    }
}

static void put_stroke(const struct plot_line *l, size_t i, struct strbuf *out)
{
    const char *dash = dashes[i / COLORS % DASHES];
    strbuf_printf(out, "stroke=\"%s\" stroke-width=\"%s\"", l->strong ? "#000" : colors[i % COLORS],
                  l->strong ? "2.2" : "1.5");
    if (*dash && !l->strong)
        strbuf_printf(out, " stroke-dasharray=\"%s\"", dash);
}

static void put_lines(const struct plot *p, const struct layout *o, struct strbuf *out)
{
    for (size_t i = 0; i < p->lines.count; i++) {
        const struct plot_line *l = &p->lines.items[i];
        const struct panel *panel = panel_of(o, l->below);
        strbuf_puts(out, "<polyline class=\"s\" fill=\"none\" ");
        put_stroke(l, i, out);
        strbuf_printf(out, " data-i=\"%zu\" data-panel=\"%zu\" points=\"", i,
                      (size_t)(panel - o->panels));
        put_points(l, &o->x, panel, out);
        strbuf_puts(out, "\"><title>");
        svg_text(out, l->name);
        strbuf_puts(out, "</title></polyline>\n");
    }
    for (size_t i = 0; i < p->peaks.count; i++) {
        const struct plot_peak *k = &p->peaks.items[i];
        double px = x_pixel(&o->x, k->x), py = y_pixel(panel_of(o, k->below), k->y);
        strbuf_printf(out, "<g class=\"p\" data-x=\"%.1f\"><title>", px);
        svg_text(out, k->text);
        strbuf_printf(out,
                      "</title><circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/><text x=\"%.1f\" "
                      "y=\"%.1f\">%u</text></g>\n",
                      px, py, px + 5, py - 5, k->number);
    }
}

static void put_panel_titles(const struct plot *p, const struct layout *o, struct strbuf *out)
{
    for (unsigned i = 0; i < 2 && o->count > 1; i++)
        if (p->panel_titles[i])
            svg_label(out, LEFT + 8, o->panels[i].top + 15, "class=\"pt\"", p->panel_titles[i]);
}

/* As many columns as the names leave room for. */
static size_t legend_columns(const struct plot *p)
{
    size_t longest = 0;
    for (size_t i = 0; i < p->lines.count; i++)
        longest =
            strlen(p->lines.items[i].name) > longest ? strlen(p->lines.items[i].name) : longest;
    return longest * LETTER + 40 <= (WIDTH - LEFT - RIGHT) / 3.0 ? 3 : 2;
}

static void put_notes(const struct plot *p, double top, struct strbuf *out)
{
    struct strbuf marks = {0};
    if (p->marks.count)
        strbuf_printf(&marks, "%s: %zu mark%s",
                      p->marks.count > MARKS_NAMED ? "ticks on the time axis" : "dashed lines",
                      p->marks.count, p->marks.count == 1 ? "" : "s");
    if (p->marks.count)
        svg_label(out, LEFT, top + LEGEND - 6, "class=\"n\"", marks.data);
    for (size_t i = 0; i < p->notes.count; i++)
        svg_label(out, LEFT, top + LEGEND * ((double)(i + !!p->marks.count) + 1) - 6, "class=\"n\"",
                  p->notes.items[i]);
    strbuf_release(&marks);
}

static void put_legend(const struct plot *p, size_t columns, double bottom, struct strbuf *out)
{
    double column = (WIDTH - LEFT - RIGHT) / (double)columns;
    for (size_t i = 0; i < p->lines.count; i++) {
        const struct plot_line *l = &p->lines.items[i];
        double left = LEFT + column * (double)(i % columns);
        size_t row = i / columns;
        double top = bottom + BOTTOM + LEGEND * (double)row + 14;
        size_t room = (size_t)((column - 40) / LETTER), size = strlen(l->name);
        char *name = size > room ? xstrndup(l->name, room) : xstrdup(l->name);
        strbuf_printf(out, "<g class=\"l\" data-i=\"%zu\" data-x=\"%.1f\" data-y=\"%.1f\"><title>",
                      i, left, top);
        svg_text(out, l->name);
        strbuf_printf(out, "</title><path fill=\"none\" d=\"M%.1f %.1fh24\" ", left, top - 4);
        put_stroke(l, i, out);
        strbuf_puts(out, "/>");
        svg_label(out, left + 30, top, "", name);
        strbuf_puts(out, "</g>\n");
        free(name);
    }
}

void plot_svg(const struct plot *p, struct strbuf *out)
{
    struct layout o;
    find_layout(p, &o);
    size_t columns = legend_columns(p), rows = (p->lines.count + columns - 1) / columns;
    size_t notes = p->notes.count + (p->marks.count ? 1 : 0);
    double bottom = bottom_of(&o), legend_end = bottom + BOTTOM + LEGEND * (double)rows;
    double height = legend_end + LEGEND * (double)notes + 16;
    svg_open(out, WIDTH, height);
    strbuf_puts(out,
                "<style>.g{stroke:#ddd;stroke-width:1}.m{stroke:#888;stroke-width:1;"
                "stroke-dasharray:3 3}.g,.m,.s{vector-effect:non-scaling-stroke}"
                ".ml,.pt{fill:#555;font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:"
                "3px}.pt{font-size:12px}"
                ".n{fill:#555}.p circle{fill:#b2182b}.p text{font-weight:bold;paint-order:stroke;"
                "stroke:#fff;stroke-width:3px}.l{cursor:pointer}.off{opacity:.25}"
                "#tip rect{fill:#fff;fill-opacity:.92;stroke:#888}</style>\n");
    svg_label(out, WIDTH / 2.0, 24, "class=\"t\" font-size=\"17\" text-anchor=\"middle\"",
              p->title);
    svg_label(out, WIDTH / 2.0, 42, "class=\"t\" fill=\"#555\" text-anchor=\"middle\"",
              p->subtitle);
    put_grid(p, &o, out);
    put_marks(p, &o, out);
    put_lines(p, &o, out);
    put_mark_names(p, &o, out);
    put_panel_titles(p, &o, out);
    put_legend(p, columns, bottom, out);
    put_notes(p, legend_end, out);
    for (unsigned i = 0; i < o.count; i++)
        strbuf_printf(out,
                      "<g class=\"panel\" data-top=\"%.1f\" data-bottom=\"%.1f\" "
                      "data-y0=\"%.17g\" data-y1=\"%.17g\"></g>\n",
                      o.panels[i].top, o.panels[i].bottom, o.panels[i].y.low, o.panels[i].y.high);
    strbuf_printf(
        out,
        "<g id=\"tip\" data-left=\"%d\" data-right=\"%d\" data-top=\"%d\" data-bottom=\"%.1f\" "
        "data-x0=\"%.17g\" data-x1=\"%.17g\" data-xu=\"%d\" data-yu=\"%d\"></g>\n"
        "<script><![CDATA[\n",
        LEFT, WIDTH - RIGHT, TOP, bottom, o.x.low, o.x.high, (int)p->x_unit, (int)p->y_unit);
    strbuf_add(out, plot_script, plot_script_size);
    strbuf_puts(out, "]]></script>\n</svg>\n");
}
