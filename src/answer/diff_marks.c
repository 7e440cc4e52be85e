/* The sizes of two processes at their marks, side by side, below the rows (diff_text.c,
 * diff_columns.c). */
#include <string.h>

#include "base/map.h"
#include "base/say.h"
#include "model/mark_rows.h"
#include "answer/columns.h"
#include "answer/diff.h"

#define SHOWN 10 /* if there are more marks, so many are shown at even distances */

/* A mark that both recordings have: the N-th of its label. */
struct pair {
    const char *label;
    uint64_t index;
    const struct stamp *stamp[2];
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
            *vec_push(&p->list) =
                (struct pair){b->label, b->index, {p->rows[0].rows.items[a].stamp, b->stamp}};
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

/* --- columns ---------------------------------------------------------------------------------- */

static struct cell get_mark(struct spot s)
{
    const struct pair *p = s.row;
    say(s.made, "%s#%d", p->label, p->index);
    return CELL_OF(s.made->data);
}

enum { LIVE, RSS, VM };

static struct cell get_change(struct spot s)
{
    const struct pair *p = s.row;
    const struct stamp *a = p->stamp[0], *b = p->stamp[1];
    int size = s.column->number;
    return CELL_OF((int64_t)(size == LIVE  ? b->live_bytes - a->live_bytes
                             : size == RSS ? b->rss_bytes - a->rss_bytes
                                           : b->vm_bytes - a->vm_bytes));
}

#define STAMP(member) FIELD(struct stamp, member)

static const struct column_def of_stamp[] = {
    {"time_ns", NULL, COLUMN_TIME, STAMP(time_ns)},
    {"live_bytes", NULL, COLUMN_BYTES, STAMP(live_bytes)},
    {"rss_bytes", NULL, COLUMN_BYTES, STAMP(rss_bytes)},
    {"vm_bytes", NULL, COLUMN_BYTES, STAMP(vm_bytes)},
};

#define LAST(member) FIELD_OF(struct pair, stamp[1], struct stamp, member)
#define SIDE(number_)                                                                              \
    .through = 1 + offsetof(struct pair, stamp[number_]), .inner = of_stamp,                       \
    .inner_count = sizeof of_stamp / sizeof *of_stamp

static const struct column_def columns[] = {
    {NULL, "mark", COLUMN_PATH, .get = get_mark},
    {NULL, "live", COLUMN_BYTES, LAST(live_bytes)},
    {NULL, "change", COLUMN_BYTES, .get = get_change, .number = LIVE, .plus = true},
    {NULL, "RSS", COLUMN_BYTES, LAST(rss_bytes)},
    {NULL, "change", COLUMN_BYTES, .get = get_change, .number = RSS, .plus = true},
    {NULL, "VM", COLUMN_BYTES, LAST(vm_bytes)},
    {NULL, "change", COLUMN_BYTES, .get = get_change, .number = VM, .plus = true},
    {"label", NULL, COLUMN_WORD, FIELD(struct pair, label)},
    {"index", NULL, COLUMN_COUNT, FIELD(struct pair, index)},
    {"a", NULL, COLUMN_WORD, SIDE(0)},
    {"b", NULL, COLUMN_WORD, SIDE(1)},
};

static struct rows rows_of(const struct pairs *p)
{
    return (struct rows){COLUMN_DEFS(columns), ITEMS(p->list)};
}

void diff_marks_text(const struct diff *d, const struct style *s, struct strbuf *out)
{
    struct pairs p;
    pairs_init(&p, d);
    size_t n = p.list.count, shown = n < SHOWN ? n : SHOWN;
    if (n) {
        struct rows rows = rows_of(&p);
        for (size_t i = 0; i < shown; i++) /* never one that was already written */
            p.list.items[i] = p.list.items[shown > 1 ? i * (n - 1) / (shown - 1) : 0];
        rows.count = shown;
        say(out, "\n%rthe process at its marks, b and b minus a: %N mark(s)%r%r\n", style_bold(s),
            n, shown < n ? "; --json has all" : "", style_plain(s));
        rows_text(&rows, s, out);
    }
    pairs_release(&p);
}

void diff_marks_json(const struct diff *d, struct json *j)
{
    struct pairs p;
    pairs_init(&p, d);
    struct rows rows = rows_of(&p);
    rows_json(&rows, "marks", NULL, j);
    pairs_release(&p);
}
