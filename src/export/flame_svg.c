/* A flame graph as one SVG file that needs nothing else. */
#include <math.h>
#include <string.h>

#include "export/flame.h"
#include "base/say.h"
#include "export/script.h"
#include "export/svg.h"

#define WIDTH      1200
#define PAD        10
#define ROW        17
#define HEAD       62
#define FOOT       14
#define TALL       900 /* higher than a window: the root is put where it is seen at once */
#define TEXT_SHOWN 21  /* boxes narrower than this have no room for three letters */
#define LETTER     7.1

/* Hues by kind of frame, one table a palette: degrees, saturation, lightness; the name moves hue
 * and lightness a little, always the same way. */
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

/* Red grew, blue shrank, the deeper the more of it changed. */
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

static void put_boxes(const struct flame *f, const struct flame_options *o, double height,
                      struct strbuf *out)
{
    const struct flame_node *root = &f->nodes.items[0];
    double scale = o->normalised && root->before ? (double)root->now / (double)root->before : 1;
    double *x = xcalloc(f->nodes.count, sizeof *x); /* where a node begins, then its next child */
    double per = root->width ? (WIDTH - 2 * PAD) / (double)root->width : 0;
    x[0] = PAD;
    for (size_t i = 0; i < f->order.count; i++) {
        uint32_t number = f->order.items[i];
        const struct flame_node *n = &f->nodes.items[number];
        double width = number ? (double)n->width * per : WIDTH - 2 * PAD;
        if (number) {
            x[number] = x[n->parent];
            x[n->parent] += width;
            if (width < o->min_width)
                continue;
        }
        double y = o->inverted ? HEAD + (double)n->depth * ROW
                               : height - FOOT - ((double)n->depth + 1) * ROW;
        const char *name = number ? strpool_get(&f->names, n->name) : "all";
        const char *place = strpool_get(&f->names, n->place), *slash = strrchr(place, '/');
        char *label = xasprintf("%s%s%s", name, *place ? "  " : "", slash ? slash + 1 : place);
        strbuf_printf(out, "<g class=\"f\" data-d=\"%u\" data-n=\"", n->depth);
        svg_text(out, name);
        if (*place) {
            strbuf_puts(out, "\" data-l=\"");
            svg_text(out, label);
        }
        strbuf_puts(out, "\">");
        put_title(f, n, o, scale, out);
        strbuf_printf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"",
                      x[number], y, width, ROW - 1);
        color_of(out, f, n, o, scale);
        strbuf_puts(out, "\"/>");
        put_label(label, x[number], y, width, out);
        strbuf_puts(out, "</g>\n");
        free(label);
    }
    free(x);
}

/* Boxes too narrow to be drawn do not make the picture higher. */
static uint32_t drawn_depth(const struct flame *f, double min_width)
{
    const struct flame_node *root = &f->nodes.items[0];
    double per = root->width ? (WIDTH - 2 * PAD) / (double)root->width : 0;
    uint32_t depth = 0;
    for (size_t i = 1; i < f->nodes.count; i++) {
        const struct flame_node *n = &f->nodes.items[i];
        if ((double)n->width * per >= min_width && n->depth > depth)
            depth = n->depth;
    }
    return depth;
}

void flame_write_svg(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
    double height = HEAD + FOOT + ((double)drawn_depth(f, o->min_width) + 1) * ROW;
    struct flame_options shown = *o;
    shown.inverted |= height > TALL;
    svg_open(out, WIDTH, height);
    strbuf_puts(out, "<style>.f{cursor:pointer}.f text{pointer-events:none}.f.on rect{stroke:#000}"
                     ".f.hit rect{fill:#e600e6}.b{cursor:pointer;fill:#06c}</style>\n");
    svg_label(out, WIDTH / 2.0, 22, "font-size=\"17\" text-anchor=\"middle\"", o->title);
    svg_label(out, WIDTH / 2.0, 38, "fill=\"#555\" text-anchor=\"middle\"", o->subtitle);
    svg_label(out, PAD, 22, "id=\"reset\" class=\"b\" style=\"display:none\"", "reset zoom");
    svg_label(out, WIDTH - PAD, 22, "id=\"search\" class=\"b\" text-anchor=\"end\"", "search");
    svg_label(out, WIDTH - PAD, 54, "id=\"matched\" text-anchor=\"end\"", "");
    svg_label(out, PAD, 54, "id=\"details\"", "");
    put_boxes(f, &shown, height, out);
    strbuf_puts(out, "<script><![CDATA[\n");
    strbuf_add(out, flame_script, flame_script_size);
    strbuf_puts(out, "]]></script>\n</svg>\n");
}
