#include "answer/histogram.h"

#include "base/say.h"
#include "answer/columns.h"
#include "answer/csv.h"

#define BAR_COLUMNS 32

static bool is_size(const struct histograms *h)
{
    return h->kind == HISTOGRAM_SIZE;
}

void histogram_heading(const struct answer *a, const struct style *s, struct strbuf *out)
{
    say(out, "%r%r", style_bold(s),
        is_size(&a->histograms) ? "sizes of all allocations of the run"
                                : "lifetimes of freed blocks, known to about 1 ms");
    if (a->query->histogram_rows)
        strbuf_printf(out, ", by %s", grouping_name(a->query->by));
    strbuf_printf(out, "%s\n", style_plain(s));
}

/* Uses eighths of a column if the terminal has the characters for them. */
static void add_bar(struct strbuf *out, uint64_t part, uint64_t most, const struct style *s)
{
    double columns = most ? (double)part / (double)most * BAR_COLUMNS : 0;
    unsigned eighths = (unsigned)(columns * 8 + 0.5);
    if (!s->utf8) {
        unsigned whole = (unsigned)(columns + 0.5);
        for (unsigned i = 0; i < (whole || !part ? whole : 1); i++)
            strbuf_putc(out, '#');
        return;
    }
    if (part && !eighths)
        eighths = 1;
    for (; eighths >= 8; eighths -= 8)
        strbuf_puts(out, "\u2588");
    if (eighths) {
        const char block[4] = {'\xe2', '\x96', (char)(0x90 - eighths), '\0'};
        strbuf_puts(out, block);
    }
}

/* The answer for the columns' functions. The row of blocks that were never freed begins at
 * NEVER. */
#define NEVER UINT64_MAX

struct picture {
    const struct histograms *histograms;
    const struct style *style;
    uint64_t most, sum; /* of all rows */
};

static bool is_bucket(const void *row)
{
    return ((const struct bucket *)row)->from != NEVER;
}

static struct cell get_from(struct spot s)
{
    const struct bucket *b = s.row;
    return is_bucket(b) ? CELL_OF(b->from) : CELL_OF("never");
}

static struct cell get_bytes(struct spot s)
{
    const struct bucket *b = s.row;
    return is_size(((const struct picture *)s.answer)->histograms) ? CELL_OF(b->bytes)
                                                                   : CELL_NOT_KNOWN;
}

/* The lower or the upper edge of a bucket. */
static struct cell get_edge(struct spot s)
{
    const struct picture *p = s.answer;
    const struct bucket *b = s.row;
    uint64_t edge = s.column->number ? b->to : b->from;
    if (!is_bucket(b))
        return CELL_OF(s.column->number ? "freed" : "never");
    if (edge == UINT64_MAX || !edge)
        return CELL_OF(edge ? "-" : "0");
    say(s.made, is_size(p->histograms) ? "%B" : "%T", edge);
    return CELL_OF(s.made->data);
}

static struct cell get_share(struct spot s)
{
    uint64_t sum = ((const struct picture *)s.answer)->sum;
    return sum ? CELL_OF((double)((const struct bucket *)s.row)->count / (double)sum)
               : CELL_NOT_KNOWN;
}

static struct cell get_bar(struct spot s)
{
    const struct picture *p = s.answer;
    add_bar(s.made, ((const struct bucket *)s.row)->count, p->most, p->style);
    return CELL_OF(s.made->data);
}

#define SIZES 1 /* what a column depends on */

static const struct column_def columns[] = {
    {"from", NULL, COLUMN_COUNT, .get = get_from},
    {"to", NULL, COLUMN_COUNT, FIELD(struct bucket, to), .known = is_bucket},
    {NULL, "from", COLUMN_COUNT, .get = get_edge, .number = 0},
    {NULL, "below", COLUMN_COUNT, .get = get_edge, .number = 1},
    {"count", "blocks", COLUMN_COUNT, FIELD(struct bucket, count)},
    {NULL, "%", COLUMN_PERCENT, .get = get_share},
    {"bytes", "bytes", COLUMN_BYTES, .get = get_bytes, .text_if = SIZES, .json_if = SIZES},
    {NULL, "", COLUMN_WORD, .get = get_bar},
};

static struct rows rows_of(const struct picture *p, const struct spread *spread)
{
    return (struct rows){COLUMN_DEFS(columns),
                         .answer = p,
                         .item_size = sizeof(struct bucket),
                         .items =
                             spread->count ? &p->histograms->buckets.items[spread->first] : NULL,
                         .count = spread->count,
                         .is = is_size(p->histograms) ? SIZES : 0};
}

static struct bucket never_freed(const struct spread *spread)
{
    return (struct bucket){.from = NEVER, .to = NEVER, .count = spread->never};
}

void histogram_text(const struct answer *a, const struct spread *spread, const struct style *s,
                    struct strbuf *out)
{
    struct picture p = {&a->histograms, s, spread->never, spread->never};
    struct rows rows = rows_of(&p, spread);
    const struct bucket *buckets = rows.items;
    VEC(struct bucket) lines = {0};
    for (size_t i = 0; i < spread->count; i++) {
        p.most = buckets[i].count > p.most ? buckets[i].count : p.most;
        p.sum += buckets[i].count;
        /* A gap of one bucket is shown, so that the bars keep their shape; a longer gap is shown as
         * one row. */
        if (i && buckets[i].from != buckets[i - 1].to)
            *vec_push(&lines) = (struct bucket){.from = buckets[i - 1].to, .to = buckets[i].from};
        *vec_push(&lines) = buckets[i];
    }
    if (!is_size(&a->histograms))
        *vec_push(&lines) = never_freed(spread);
    rows.items = lines.items;
    rows.count = lines.count;
    rows_text(&rows, s, out);
    vec_release(&lines);
}

void histogram_json(struct json *j, const struct histograms *h, const struct spread *spread)
{
    const struct picture p = {.histograms = h};
    const struct rows rows = rows_of(&p, spread);
    json_object(j, "histogram");
    json_string(j, "kind", histogram_kind_name(h->kind));
    rows_json(&rows, "buckets", NULL, j);
    if (!is_size(h))
        json_u64(j, "never", spread->never);
    json_end(j);
}

static void csv_line(const struct rows *r, const struct bucket *b, const char *front,
                     struct strbuf *out)
{
    strbuf_puts(out, front);
    row_csv(r, b, out);
    csv_end_line(out);
}

void histogram_csv(const struct histograms *h, const struct spread *spread, const char *front,
                   struct strbuf *out)
{
    const struct picture p = {.histograms = h};
    const struct rows rows = rows_of(&p, spread ? spread : &(struct spread){0});
    if (!spread)
        csv_line(&rows, NULL, front, out);
    for (size_t i = 0; i < rows.count; i++)
        csv_line(&rows, (const struct bucket *)rows.items + i, front, out);
    if (spread && !is_size(h)) {
        const struct bucket never = never_freed(spread);
        csv_line(&rows, &never, front, out);
    }
}
