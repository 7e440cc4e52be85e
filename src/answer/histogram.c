#include "answer/histogram.h"

#include <inttypes.h>

#include "base/say.h"
#include "answer/table.h"
#include "answer/units.h"

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

/* Eighths of a column where the terminal has the characters for them. */
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

static void add_edge(struct strbuf *cell, const struct histograms *h, uint64_t edge)
{
    if (edge == UINT64_MAX)
        strbuf_puts(cell, "-");
    else if (!edge)
        strbuf_puts(cell, "0");
    else if (is_size(h))
        unit_bytes(cell, (int64_t)edge);
    else
        unit_time(cell, edge);
}

static void add_line(struct table *t, const struct histograms *h, const struct bucket *b,
                     uint64_t most, uint64_t sum, const struct style *s)
{
    add_edge(table_cell(t), h, b->from);
    add_edge(table_cell(t), h, b->to);
    unit_count(table_cell(t), (int64_t)b->count);
    unit_percent(table_cell(t), (double)b->count, (double)sum);
    if (is_size(h))
        unit_bytes(table_cell(t), (int64_t)b->bytes);
    add_bar(table_cell(t), b->count, most, s);
}

void histogram_text(const struct answer *a, const struct spread *spread, const struct style *s,
                    struct strbuf *out)
{
    const struct histograms *h = &a->histograms;
    const struct bucket *buckets = spread->count ? &h->buckets.items[spread->first] : NULL;
    uint64_t most = spread->never, sum = spread->never;
    for (size_t i = 0; i < spread->count; i++) {
        most = buckets[i].count > most ? buckets[i].count : most;
        sum += buckets[i].count;
    }
    struct table t;
    table_init(&t);
    table_column(&t, "from", CELL_RIGHT);
    table_column(&t, "below", CELL_RIGHT);
    table_column(&t, "blocks", CELL_RIGHT);
    table_column(&t, "%", CELL_RIGHT);
    if (is_size(h))
        table_column(&t, "bytes", CELL_RIGHT);
    table_column(&t, "", CELL_LEFT);
    for (size_t i = 0; i < spread->count; i++) {
        /* A gap of one bucket is shown, so that the bars have their shape; of more, once. */
        if (i && buckets[i].from != buckets[i - 1].to)
            add_line(&t, h, &(struct bucket){.from = buckets[i - 1].to, .to = buckets[i].from},
                     most, sum, s);
        add_line(&t, h, &buckets[i], most, sum, s);
    }
    if (!is_size(h)) {
        strbuf_puts(table_cell(&t), "never");
        strbuf_puts(table_cell(&t), "freed");
        unit_count(table_cell(&t), (int64_t)spread->never);
        unit_percent(table_cell(&t), (double)spread->never, (double)sum);
        add_bar(table_cell(&t), spread->never, most, s);
    }
    table_print(&t, s, out);
    table_release(&t);
}

void histogram_json(struct json *j, const struct histograms *h, const struct spread *spread)
{
    json_object(j, "histogram");
    json_string(j, "kind", histogram_kind_name(h->kind));
    json_array(j, "buckets");
    for (size_t i = 0; i < spread->count; i++) {
        const struct bucket *b = &h->buckets.items[spread->first + i];
        json_object(j, NULL);
        json_u64(j, "from", b->from);
        json_u64(j, "to", b->to);
        json_u64(j, "count", b->count);
        if (is_size(h))
            json_u64(j, "bytes", b->bytes);
        json_end(j);
    }
    json_end(j);
    if (!is_size(h))
        json_u64(j, "never", spread->never);
    json_end(j);
}

void histogram_csv(const struct histograms *h, const struct spread *spread, const char *front,
                   struct strbuf *out)
{
    for (size_t i = 0; i < spread->count; i++) {
        const struct bucket *b = &h->buckets.items[spread->first + i];
        strbuf_printf(out, "%s%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", front, b->from, b->to,
                      b->count);
        if (is_size(h))
            strbuf_printf(out, "%" PRIu64, b->bytes);
        strbuf_putc(out, '\n');
    }
    if (!is_size(h))
        strbuf_printf(out, "%snever,,%" PRIu64 ",\n", front, spread->never);
}
