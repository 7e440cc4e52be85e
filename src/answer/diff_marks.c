/* The sizes of two processes at their marks, side by side. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/say.h"
#include "model/mark_rows.h"
#include "answer/diff.h"
#include "answer/table.h"
#include "answer/units.h"

#define SHOWN 10 /* of more marks, so many are shown, evenly */

/* A mark that both have: the N-th of its label. */
struct pair {
    const struct mark_row *side[2];
};

struct pairs {
    struct mark_rows rows[2];
    VEC(struct pair) list; /* in the order of b */
};

static uint64_t key_of(struct strpool *labels, const struct mark_row *r)
{
    return (uint64_t)strpool_add(labels, r->label) << 32 | (uint32_t)r->index;
}

static void pairs_init(struct pairs *p, const struct diff *d)
{
    struct strpool labels = {0};
    struct map of_a = {0};
    struct err none = {{0}};
    *p = (struct pairs){0};
    for (int i = 0; i < 2; i++)
        mark_rows_init(&p->rows[i], d->side[i].recording, d->side[i].profile, NULL, false, &none);
    for (size_t i = 0; i < p->rows[0].rows.count; i++)
        *map_at(&of_a, key_of(&labels, &p->rows[0].rows.items[i])) = (uint32_t)i;
    for (size_t i = 0; i < p->rows[1].rows.count; i++) {
        const struct mark_row *b = &p->rows[1].rows.items[i];
        uint32_t a = map_get(&of_a, key_of(&labels, b));
        if (a != MAP_NONE)
            *vec_push(&p->list) = (struct pair){{&p->rows[0].rows.items[a], b}};
    }
    map_release(&of_a);
    strpool_release(&labels);
}

static void pairs_release(struct pairs *p)
{
    vec_release(&p->list);
    for (int i = 0; i < 2; i++)
        mark_rows_release(&p->rows[i]);
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_size(struct table *t, uint64_t a, uint64_t b)
{
    int64_t change = (int64_t)(b - a);
    unit_bytes(table_cell(t), (int64_t)b);
    struct strbuf *cell = table_cell(t);
    say(cell, "%r%B", change > 0 ? "+" : "", change);
}

static void put_row(struct table *t, const struct pair *p)
{
    const struct stamp *a = p->side[0]->stamp, *b = p->side[1]->stamp;
    struct strbuf *name = table_cell(t);
    say(name, "%s#%d", p->side[1]->label, p->side[1]->index);
    put_size(t, a->live_bytes, b->live_bytes);
    put_size(t, a->rss_bytes, b->rss_bytes);
    put_size(t, a->vm_bytes, b->vm_bytes);
}

void diff_marks_text(const struct diff *d, const struct style *s, struct strbuf *out)
{
    struct pairs p;
    pairs_init(&p, d);
    size_t n = p.list.count, shown = n < SHOWN ? n : SHOWN;
    if (n) {
        struct table t;
        table_init(&t);
        table_column(&t, "mark", CELL_PATH);
        table_column(&t, "live", CELL_RIGHT);
        table_column(&t, "change", CELL_RIGHT);
        table_column(&t, "RSS", CELL_RIGHT);
        table_column(&t, "change", CELL_RIGHT);
        table_column(&t, "VM", CELL_RIGHT);
        table_column(&t, "change", CELL_RIGHT);
        for (size_t i = 0; i < shown; i++)
            put_row(&t, &p.list.items[shown > 1 ? i * (n - 1) / (shown - 1) : 0]);
        say(out, "\n%rthe process at its marks, b and b minus a: %N mark(s)%r%r\n", style_bold(s),
            n, shown < n ? "; --json has all" : "", style_plain(s));
        table_print(&t, s, out);
        table_release(&t);
    }
    pairs_release(&p);
}

/* --- JSON ------------------------------------------------------------------------------------- */

void diff_marks_json(const struct diff *d, struct json *j)
{
    static const char *const names[] = {"a", "b"};
    struct pairs p;
    pairs_init(&p, d);
    json_array(j, "marks");
    for (size_t i = 0; i < p.list.count; i++) {
        const struct pair *pair = &p.list.items[i];
        json_object(j, NULL);
        json_string(j, "label", pair->side[1]->label);
        json_u64(j, "index", pair->side[1]->index);
        for (int k = 0; k < 2; k++) {
            const struct stamp *s = pair->side[k]->stamp;
            json_object(j, names[k]);
            json_u64(j, "time_ns", s->time_ns);
            json_u64(j, "live_bytes", s->live_bytes);
            json_u64(j, "rss_bytes", s->rss_bytes);
            json_u64(j, "vm_bytes", s->vm_bytes);
            json_end(j);
        }
        json_end(j);
    }
    json_end(j);
    pairs_release(&p);
}
