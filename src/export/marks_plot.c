#include "export/marks_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/plot.h"
#include "answer/summary.h"

#define LABEL_BYTES 64

static const struct field {
    const char *name, *title;            /* title NULL: not drawn */
    size_t offset;                       /* in struct stamp */
    bool (*known)(const struct stamp *); /* NULL: always */
} fields[] = {
    {"time_ns", NULL, offsetof(struct stamp, time_ns), NULL},
    {"vm_bytes", "VM", offsetof(struct stamp, vm_bytes), NULL},
    {"rss_bytes", "RSS", offsetof(struct stamp, rss_bytes), NULL},
    {"anon_bytes", "anonymous RSS", offsetof(struct stamp, anon_bytes), NULL},
    {"minor_faults", NULL, offsetof(struct stamp, minor_faults), NULL},
    {"major_faults", NULL, offsetof(struct stamp, major_faults), NULL},
    {"live_bytes", "live heap", offsetof(struct stamp, live_bytes), NULL},
    {"live_blocks", NULL, offsetof(struct stamp, live_blocks), NULL},
    {"allocations", NULL, offsetof(struct stamp, allocations), NULL},
    {"allocator_held_bytes", "held by the allocator", offsetof(struct stamp, held_bytes),
     stamp_held_known},
    {"allocator_free_bytes", "free in the allocator", offsetof(struct stamp, free_bytes),
     stamp_free_known},
};
#define FIELDS (sizeof fields / sizeof *fields)

static bool is_known(const struct stamp *s, const struct field *f)
{
    return !f->known || f->known(s);
}

static uint64_t value_of(const struct stamp *s, const struct field *f)
{
    uint64_t v = UINT64_MAX; /* -1: not known */
    if (is_known(s, f))
        memcpy(&v, (const char *)s + f->offset, sizeof v);
    return v;
}

struct drawing {
    struct plot plot;
    struct strbuf title;
    VEC(char *) labels;
};

static void draw(struct drawing *d, const struct mark_rows *m)
{
    *d = (struct drawing){.plot = {.x_unit = PLOT_SECONDS,
                                   .y_unit = PLOT_BYTES,
                                   .x_title = "seconds since the start",
                                   .subtitle = "sizes of the process and its heap",
                                   .panel_titles = {NULL, "VM, on a scale of its own"}}};
    summary_command(m->profile, 90, &d->title);
    d->plot.title = d->title.data;
    for (size_t f = 0; f < FIELDS; f++) {
        struct plot_line *l = NULL;
        for (size_t i = 0; fields[f].title && i < m->rows.count; i++) {
            const struct stamp *s = m->rows.items[i].stamp;
            if (!is_known(s, &fields[f]))
                continue;
            if (!l) {
                l = plot_add(&d->plot, fields[f].title);
                l->steps = true; /* between two moments only the value at the first is known */
                l->strong = strcmp(fields[f].name, "live_bytes") == 0;
                l->below = strcmp(fields[f].name, "vm_bytes") == 0;
            }
            plot_put(l, (double)s->time_ns / 1e9, (double)value_of(s, &fields[f]));
        }
    }
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mark_row *r = &m->rows.items[i];
        if (!r->index)
            continue;
        char *label = xasprintf("%s#%zu", r->label, r->index);
        *vec_push(&d->labels) = label;
        *vec_push(&d->plot.marks) = (struct plot_mark){(double)r->stamp->time_ns / 1e9, label};
    }
}

static void drawing_release(struct drawing *d)
{
    for (size_t i = 0; i < d->labels.count; i++)
        free(d->labels.items[i]);
    vec_release(&d->labels);
    strbuf_release(&d->title);
    plot_release(&d->plot);
}

void marks_plot(const struct mark_rows *m, struct strbuf *out)
{
    struct drawing d;
    draw(&d, m);
    plot_svg(&d.plot, out);
    drawing_release(&d);
}

void marks_gnuplot(const struct mark_rows *m, struct strbuf *out)
{
    struct drawing d;
    draw(&d, m);
    plot_gnuplot(&d.plot, out);
    drawing_release(&d);
}

/* --- numpy ------------------------------------------------------------------------------------ */

/* Writes a key as a Python string literal, changed if it is the name of a field. */
static void put_key(struct strbuf *out, const char *key)
{
    strbuf_puts(out, "('value_");
    for (; *key; key++)
        strbuf_putc(out, *key == '\'' || *key == '\\' || *key < ' ' || *key > '~' ? '_' : *key);
    strbuf_puts(out, "', '<f8'), ");
}

void marks_npy(const struct mark_rows *m, struct strbuf *out)
{
    VEC(uint32_t) keys = {0};
    for (size_t i = 0; i < m->profile->mark_values.count; i++) {
        bool known = false;
        for (size_t k = 0; k < keys.count; k++)
            known |= keys.items[k] == m->profile->mark_values.items[i].key;
        if (!known)
            *vec_push(&keys) = m->profile->mark_values.items[i].key;
    }
    struct strbuf header = {0};
    strbuf_printf(&header, "{'descr': [('label', '|S%d'), ('index', '<i8'), ", LABEL_BYTES);
    for (size_t f = 0; f < FIELDS; f++)
        strbuf_printf(&header, "('%s', '<i8'), ", fields[f].name);
    for (size_t k = 0; k < keys.count; k++)
        put_key(&header, strpool_get(&m->recording->strings, keys.items[k]));
    strbuf_printf(&header, "], 'fortran_order': False, 'shape': (%zu,), }", m->rows.count);
    while ((12 + header.size + 1) % 64)
        strbuf_putc(&header, ' ');
    strbuf_putc(&header, '\n');
    uint32_t size = (uint32_t)header.size;
    strbuf_add(out, "\x93NUMPY\x02\x00", 8); /* version 2: the header's size in four bytes */
    strbuf_add(out, &size, 4);
    strbuf_add(out, header.data, header.size);
    for (size_t i = 0; i < m->rows.count; i++) {
        const struct mark_row *r = &m->rows.items[i];
        char label[LABEL_BYTES] = {0};
        int64_t index = (int64_t)r->index;
        memcpy(label, r->label, strnlen(r->label, sizeof label));
        strbuf_add(out, label, sizeof label);
        strbuf_add(out, &index, sizeof index);
        for (size_t f = 0; f < FIELDS; f++) {
            uint64_t v = value_of(r->stamp, &fields[f]);
            strbuf_add(out, &v, sizeof v);
        }
        for (size_t k = 0; k < keys.count; k++) {
            double v = NAN;
            for (size_t n = r->first; n < r->first + r->count; n++)
                if (m->values[n].key == keys.items[k])
                    v = m->values[n].value;
            strbuf_add(out, &v, sizeof v);
        }
    }
    strbuf_release(&header);
    vec_release(&keys);
}
