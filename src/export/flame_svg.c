/* A flame graph as one self-contained SVG file. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "base/say.h"
#include "export/flame.h"
#include "export/script.h"
#include "export/svg.h"

#define WIDTH      1200
#define PAD        10
#define ROW        17
#define HEAD       82
#define LEGEND_Y   72
#define FOOT       14
#define TALL       900 /* higher than a window: the root is put where it can be seen at once */
#define TEXT_SHOWN 21  /* boxes narrower than this have no room for three letters */
#define LETTER     7.1

/* In a picture higher than a window, a row that nearly only passes on what its callers have is
 * drawn thin, so that a deep stack shows where it branches. */
#define THIN 4
/* A box passes on what its caller has if it has at least this share of its caller's width, and one
 * callee has at least this share of its own. */
#define PASSES_ON 0.99
/* If all other boxes of a row have less than this share of the picture's width, the row is thin. */
#define ROW_LEAST 0.02

/* Hues by kind of frame, one table per palette: degrees, saturation, lightness. The name shifts hue
 * and lightness a little, always in the same way. */
struct hue {
    double hue, span, saturation, lightness;
};

static const struct hue palettes[FLAME_PALETTES][FLAME_KINDS] = {
    [FLAME_HEAP] = {[FLAME_NATIVE] = {95, 50, .50, .62},
                    [FLAME_INLINED] = {120, 40, .35, .74},
                    [FLAME_PYTHON] = {205, 20, .60, .72},
                    [FLAME_KERNEL] = {30, 15, .75, .65},
                    [FLAME_OTHER] = {0, 0, 0, .84}},
    [FLAME_CPU] = {[FLAME_NATIVE] = {5, 45, .85, .64},
                   [FLAME_INLINED] = {35, 20, .75, .76},
                   [FLAME_PYTHON] = {205, 20, .60, .72},
                   [FLAME_KERNEL] = {285, 20, .45, .72},
                   [FLAME_OTHER] = {0, 0, 0, .84}},
    [FLAME_FAULTS] = {[FLAME_NATIVE] = {255, 40, .50, .74},
                      [FLAME_INLINED] = {280, 25, .40, .82},
                      [FLAME_PYTHON] = {205, 20, .60, .72},
                      [FLAME_KERNEL] = {30, 15, .75, .65},
                      [FLAME_OTHER] = {0, 0, 0, .84}},
    [FLAME_MAPPED] = {[FLAME_NATIVE] = {165, 30, .45, .62},
                      [FLAME_INLINED] = {180, 20, .35, .74},
                      [FLAME_PYTHON] = {205, 20, .60, .72},
                      [FLAME_KERNEL] = {30, 15, .75, .65},
                      [FLAME_OTHER] = {0, 0, 0, .84}},
};

static uint32_t hash_of(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 16777619u;
    return h ^ h >> 15;
}

static double channel(double hue, double saturation, double lightness, double shift)
{
    double k = fmod(shift + hue / 30, 12), a = saturation * fmin(lightness, 1 - lightness);
    return lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));
}

static void put_rgb(struct strbuf *out, double r, double g, double b)
{
    strbuf_printf(out, "#%02x%02x%02x", (unsigned)(r * 255), (unsigned)(g * 255),
                  (unsigned)(b * 255));
}

/* Red grew, blue shrank; the deeper, the larger the change. */
static void difference_color(struct strbuf *out, const struct flame_node *n, double scale)
{
    double before = (double)n->before * scale, now = (double)n->now;
    double most = fmax(fabs(before), fabs(now)),
           part = most > 0 ? fmax(-1, fmin((now - before) / most, 1)) : 0;
    double pale = 1 - 0.75 * fabs(part);
    if (part >= 0)
        put_rgb(out, 1, fmax(pale, 0.25), fmax(pale, 0.25));
    else
        put_rgb(out, pale, pale, 1);
}

static void color_of(struct strbuf *out, const struct flame *f, const struct flame_node *n,
                     const struct flame_options *o, double scale)
{
    if (o->colors == FLAME_DIFF) {
        difference_color(out, n, scale);
        return;
    }
    const struct hue *h = &palettes[o->colors][n->kind];
    uint32_t hash = hash_of(strpool_get(&f->names, n->name));
    double hue = h->hue + h->span * (double)(hash & 0xff) / 255;
    double light = h->lightness + 0.08 * (double)(hash >> 8 & 0xff) / 255;
    put_rgb(out, channel(hue, h->saturation, light, 0), channel(hue, h->saturation, light, 8),
            channel(hue, h->saturation, light, 4));
}

static void put_title(const struct flame *f, const struct flame_node *n,
                      const struct flame_options *o, double scale, struct strbuf *out)
{
    const struct flame_node *root = &f->nodes.items[0];
    struct strbuf text = {0};
    say(&text, "%r\n", n == root ? "all" : strpool_get(&f->names, n->name));
    if (n->place)
        strbuf_printf(&text, "%s\n", strpool_get(&f->names, n->place));
    if (o->colors == FLAME_DIFF) {
        double before = fmax(-9e18, fmin((double)n->before * scale, 9e18));
        o->amount(&text, (int64_t)before);
        strbuf_puts(&text, " before, ");
        o->amount(&text, n->now);
        strbuf_puts(&text, " now");
        if (n->before)
            strbuf_printf(&text, " (%+.1f %%)",
                          100 * ((double)n->now / ((double)n->before * scale) - 1));
        else
            strbuf_puts(&text, " (new)");
    } else {
        o->amount(&text, n->now);
        if (root->width)
            strbuf_printf(&text, " (%.2f %%)", 100 * (double)n->width / (double)root->width);
    }
    strbuf_puts(out, "<title>");
    svg_text(out, text.data);
    strbuf_puts(out, "</title>");
    strbuf_release(&text);
}

static void put_label(const char *name, double x, double y, double width, struct strbuf *out)
{
    size_t room = width > TEXT_SHOWN ? (size_t)((width - 6) / LETTER) : 0, size = strlen(name);
    strbuf_printf(out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + ROW - 5);
    if (size <= room) {
        svg_text(out, name);
    } else if (room >= 3) {
        char *part = xstrndup(name, room - 2);
        svg_text(out, part);
        strbuf_puts(out, "..");
        free(part);
    }
    strbuf_puts(out, "</text>");
}

/* The rows of a picture: row d is from tops[d] to tops[d + 1], counted from the root's. */
struct rows {
    uint32_t count;
    double *tops;
    bool some_thin;
};

static double width_of(const struct flame *f, const struct flame_node *n)
{
    const struct flame_node *root = &f->nodes.items[0];
    return n == root     ? WIDTH - 2 * PAD
           : root->width ? (double)n->width * (WIDTH - 2 * PAD) / (double)root->width
                         : 0;
}

/* Boxes too narrow to be drawn do not make the picture higher. */
static uint32_t drawn_depth(const struct flame *f, double min_width)
{
    uint32_t depth = 0;
    for (size_t i = 1; i < f->nodes.count; i++) {
        const struct flame_node *n = &f->nodes.items[i];
        if (width_of(f, n) >= min_width && n->depth > depth)
            depth = n->depth;
    }
    return depth;
}

static void find_rows(const struct flame *f, double min_width, struct rows *rows)
{
    uint32_t count = drawn_depth(f, min_width) + 1;
    *rows = (struct rows){.count = count, .tops = xcalloc(count + 1, sizeof *rows->tops)};
    /* Total width of boxes that justify a full row. */
    double *full_width = xcalloc(count, sizeof *full_width);
    /* Width of each node's widest callee. */
    double *callee = xcalloc(f->nodes.count, sizeof *callee);
    for (size_t i = f->nodes.count; i-- > 1;) {
        const struct flame_node *n = &f->nodes.items[i];
        callee[n->parent] = fmax(callee[n->parent], width_of(f, n));
    }
    for (size_t i = 0; i < f->nodes.count; i++) {
        const struct flame_node *n = &f->nodes.items[i];
        double width = width_of(f, n);
        bool passes_on = i && width >= PASSES_ON * width_of(f, &f->nodes.items[n->parent]) &&
                         callee[i] >= PASSES_ON * width;
        if (n->depth < count && width >= min_width && !passes_on)
            full_width[n->depth] += width;
    }
    bool tall = HEAD + FOOT + (double)count * ROW > TALL;
    for (uint32_t d = 0; d < count; d++) {
        bool thin = tall && full_width[d] < ROW_LEAST * WIDTH;
        rows->some_thin |= thin;
        rows->tops[d + 1] = rows->tops[d] + (thin ? THIN : ROW);
    }
    free(full_width);
    free(callee);
}

static void put_boxes(const struct flame *f, const struct flame_options *o, const struct rows *rows,
                      double height, struct strbuf *out)
{
    const struct flame_node *root = &f->nodes.items[0];
    double scale = o->normalised && root->before ? (double)root->now / (double)root->before : 1;
    /* Where a node begins; then where its next child begins. */
    double *x = xcalloc(f->nodes.count, sizeof *x);
    x[0] = PAD;
    for (size_t i = 0; i < f->order.count; i++) {
        uint32_t number = f->order.items[i];
        const struct flame_node *n = &f->nodes.items[number];
        double width = width_of(f, n);
        if (number) {
            x[number] = x[n->parent];
            x[n->parent] += width;
            if (width < o->min_width)
                continue;
        }
        double from = rows->tops[n->depth], to = rows->tops[n->depth + 1];
        double y = o->inverted ? HEAD + from : height - FOOT - to;
        const char *name = number ? strpool_get(&f->names, n->name) : "all";
        const char *place = strpool_get(&f->names, n->place);
        char *label = xasprintf("%s%s%s", name, *place ? "  " : "", path_base(place));
        strbuf_printf(out, "<g class=\"f\" data-d=\"%u\" data-n=\"", n->depth);
        svg_text(out, name);
        if (*place) {
            strbuf_puts(out, "\" data-l=\"");
            svg_text(out, label);
        }
        strbuf_puts(out, "\">");
        put_title(f, n, o, scale, out);
        strbuf_printf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"",
                      x[number], y, width, (int)(to - from) - 1);
        color_of(out, f, n, o, scale);
        strbuf_puts(out, "\"/>");
        put_label(label, x[number], y, to - from < ROW ? 0 : width, out);
        strbuf_puts(out, "</g>\n");
        free(label);
    }
    free(x);
}

static double put_key(double x, const char *color, const char *name, struct strbuf *out)
{
    strbuf_printf(out,
                  "<rect class=\"k\" x=\"%.1f\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>",
                  x, LEGEND_Y - 11, color);
    svg_label(out, x + 17, LEGEND_Y - 1, "class=\"k\"", name);
    return x + 17 + LETTER * (double)strlen(name) + 18;
}

/* Explains the colours that occur. */
static void put_legend(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
    static const char *const names[FLAME_KINDS] = {[FLAME_NATIVE] = "native",
                                                   [FLAME_INLINED] = "inlined",
                                                   [FLAME_PYTHON] = "Python",
                                                   [FLAME_KERNEL] = "kernel",
                                                   [FLAME_OTHER] = "threads, pools, markers"};
    bool occurs[FLAME_KINDS] = {0};
    double x = PAD;
    if (o->colors == FLAME_DIFF) {
        x = put_key(x, "#ff4040", "grew, or is new", out);
        x = put_key(x, "#ffffff", "the same", out);
        put_key(x, "#4040ff", "shrank, or is gone", out);
        return;
    }
    for (size_t i = 1; i < f->nodes.count; i++)
        if (width_of(f, &f->nodes.items[i]) >= o->min_width)
            occurs[f->nodes.items[i].kind] = true;
    for (int k = 0; k < FLAME_KINDS; k++) {
        const struct hue *h = &palettes[o->colors][k];
        struct strbuf color = {0};
        double hue = h->hue + h->span / 2, light = h->lightness + 0.04;
        put_rgb(&color, channel(hue, h->saturation, light, 0),
                channel(hue, h->saturation, light, 8), channel(hue, h->saturation, light, 4));
        if (occurs[k])
            x = put_key(x, color.data, names[k], out);
        strbuf_release(&color);
    }
}

void flame_write_svg(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
    struct rows rows;
    find_rows(f, o->min_width, &rows);
    double height = HEAD + FOOT + rows.tops[rows.count];
    struct flame_options shown = *o;
    shown.inverted |= rows.some_thin || height > TALL;
    svg_open(out, WIDTH, height);
    strbuf_puts(out, "<style>.f{cursor:pointer}.f text{pointer-events:none}.f.on rect{stroke:#000}"
                     ".f.hit rect{fill:#e600e6}.b{cursor:pointer;fill:#06c}"
                     "rect.k{stroke:#999;stroke-width:.5}text.k{fill:#555}</style>\n");
    svg_label(out, WIDTH / 2.0, 22, "font-size=\"17\" text-anchor=\"middle\"", o->title);
    svg_label(out, WIDTH / 2.0, 38, "fill=\"#555\" text-anchor=\"middle\"", o->subtitle);
    svg_label(out, PAD, 22, "id=\"reset\" class=\"b\" style=\"display:none\"", "reset zoom");
    svg_label(out, WIDTH - PAD, 22, "id=\"search\" class=\"b\" text-anchor=\"end\"", "search");
    svg_label(out, WIDTH - PAD, LEGEND_Y - 1, "id=\"matched\" text-anchor=\"end\"", "");
    svg_label(out, PAD, 54, "id=\"details\"", "");
    put_legend(f, o, out);
    if (rows.some_thin) {
        svg_label(out, WIDTH - PAD, 54, "class=\"k\" text-anchor=\"end\"",
                  "thin rows: calls that only lead to the next");
        strbuf_printf(out,
                      "<g id=\"rows\" data-row=\"%d\" data-thin=\"%d\" data-passes=\"%g\" "
                      "data-least=\"%g\" data-foot=\"%d\"></g>\n",
                      ROW, THIN, PASSES_ON, ROW_LEAST * WIDTH, FOOT);
    }
    put_boxes(f, &shown, &rows, height, out);
    strbuf_puts(out, "<script><![CDATA[\n");
    strbuf_add(out, flame_script, flame_script_size);
    strbuf_puts(out, "]]></script>\n</svg>\n");
    free(rows.tops);
}
