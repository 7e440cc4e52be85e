#include "collect/counting/interval_log.h"

#include <stdlib.h>
#include <string.h>

/* Fewer numbers than one in so many are sorted by comparing them. */
#define SORTED_BY_BITS 512

void interval_log_init(struct interval_log *t, uint64_t length_ns)
{
    *t = (struct interval_log){.length_ns = length_ns, .next_end_ns = length_ns};
}

void interval_log_release(struct interval_log *t)
{
    for (size_t i = 0; i < t->slices.count; i++)
        strbuf_release(&t->slices.items[i].rows);
    vec_release(&t->slices);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts different numbers below `end` by a bit for each of them. */
static void sort_by_bits(uint32_t *numbers, size_t count, size_t end)
{
    size_t words = end / 64 + 1, n = 0;
    uint64_t *bits = xcalloc(words, sizeof *bits);
    for (size_t i = 0; i < count; i++)
        bits[numbers[i] / 64] |= UINT64_C(1) << numbers[i] % 64;
    for (size_t w = 0; w < words && n < count; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1)
            numbers[n++] = (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(left));
    free(bits);
}

/* Rows are in the order of their sites. */
static void sort_dirty(struct ledger *l)
{
    uint32_t *dirty = l->deltas.dirty.items;
    size_t count = l->deltas.dirty.count;
    if (count * SORTED_BY_BITS >= l->accounts.count)
        sort_by_bits(dirty, count, l->accounts.count);
    else if (count)
        qsort(dirty, count, sizeof *dirty, compare_u32);
}

/* Merges slice i and the next into i. The next is left empty. */
static void merge_pair(struct interval_log *t, size_t i, const struct units *units)
{
    struct slice a = t->slices.items[i], b = t->slices.items[i + 1], sum = b;
    sum.rows = (struct strbuf){0};
    rows_merge(&sum.rows, &sum.row_count, &a.rows, &b.rows, units);
    if (a.interval.peak_bytes > sum.interval.peak_bytes)
        sum.interval.peak_bytes = a.interval.peak_bytes;
    sum.interval.unknown_frees += a.interval.unknown_frees;
    sum.interval.lost_events += a.interval.lost_events;
    sum.interval.truncated_stacks += a.interval.truncated_stacks;
    sum.interval.incomplete_stacks += a.interval.incomplete_stacks;
    t->bytes -= a.rows.size + b.rows.size;
    t->bytes += sum.rows.size;
    strbuf_release(&a.rows);
    strbuf_release(&b.rows);
    t->slices.items[i] = sum;
}

static void merge_neighbours(struct interval_log *t, const struct ledger *l)
{
    const struct units units = ledger_units(l);
    size_t n = t->kept_first;
    for (size_t i = n; i < t->slices.count; i++, n++) {
        if (i + 1 < t->slices.count && !t->slices.items[i].kept) {
            merge_pair(t, i, &units);
            t->slices.items[n] = t->slices.items[i++];
        } else {
            t->slices.items[n] = t->slices.items[i];
        }
    }
    t->slices.count = n;
    while (t->kept_first < n && t->slices.items[t->kept_first].kept)
        t->kept_first++;
}

static bool has_too_many_rows(const struct interval_log *t, const struct ledger *l)
{
    return t->bytes > INTERVAL_LOG_ROOM(l->accounts.count);
}

/* The slice that can be merged with its next at the least cost; the last one if none can. */
static size_t cheapest(const struct interval_log *t)
{
    const struct slice *s = t->slices.items;
    size_t best = t->slices.count - 1;
    for (size_t i = 0; i + 1 < t->slices.count; i++)
        if (!s[i].kept &&
            (best == t->slices.count - 1 ||
             s[i].rows.size + s[i + 1].rows.size < s[best].rows.size + s[best + 1].rows.size))
            best = i;
    return best;
}

void interval_log_settle(struct interval_log *t, const struct ledger *l)
{
    const struct units units = ledger_units(l);
    for (size_t n;
         n = t->slices.count - t->kept,
         n > INTERVAL_LOG_MAX / 2 || (n > INTERVAL_LOG_MIN / 2 && t->crowded) ||
             (n > INTERVAL_LOG_LEAST && t->bytes > INTERVAL_LOG_SETTLED(l->accounts.count));) {
        size_t best = cheapest(t);
        if (best + 1 >= t->slices.count)
            break;
        merge_pair(t, best, &units);
        t->slices.count--;
        memmove(&t->slices.items[best + 1], &t->slices.items[best + 2],
                (t->slices.count - best - 1) * sizeof *t->slices.items);
    }
}

void interval_log_not_marked(struct interval_log *t, uint32_t tick)
{
    size_t i = interval_log_find(t, tick);
    if (i && t->slices.items[i - 1].tick == tick && t->slices.items[i - 1].kept) {
        t->slices.items[i - 1].kept = false;
        t->kept--;
        t->kept_first = i - 1 < t->kept_first ? i - 1 : t->kept_first;
    }
}

void interval_log_marked_at(struct interval_log *t, uint32_t tick, uint64_t time_ns)
{
    size_t i = interval_log_find(t, tick);
    struct slice *s = i ? &t->slices.items[i - 1] : NULL;
    if (!s || s->tick != tick || !s->kept)
        return;
    if (i > 1 && time_ns < s[-1].interval.end_ns)
        time_ns = s[-1].interval.end_ns;
    if (i < t->slices.count && time_ns > s[1].interval.end_ns)
        time_ns = s[1].interval.end_ns;
    if (t->marked_ns == s->interval.end_ns)
        t->marked_ns = time_ns;
    s->interval.end_ns = time_ns;
}

size_t interval_log_find(const struct interval_log *t, uint32_t tick)
{
    size_t at; /* index of the first with this tick or a later one */
    BISECT(at, t->slices.count, t->slices.items[at].tick < tick);
    return at < t->slices.count ? at + 1 : at;
}

bool interval_log_ended(const struct interval_log *t, uint64_t time_ns, uint32_t *tick)
{
    size_t at; /* index of the first that ends later */
    if (time_ns >= t->marked_ns)
        return false;
    BISECT(at, t->slices.count, t->slices.items[at].interval.end_ns <= time_ns);
    if (at == t->slices.count)
        return false;
    *tick = t->slices.items[at].tick;
    return true;
}

void interval_log_add(struct interval_log *t, const struct ledger *l, uint32_t tick,
                      const struct strbuf *rows)
{
    const struct units units = ledger_units(l);
    size_t at = interval_log_find(t, tick);
    struct slice *s = &t->slices.items[at - 1]; /* merged with the next one meanwhile, or itself */
    struct strbuf sum = {0};
    rows_merge(&sum, &s->row_count, &s->rows, rows, &units);
    t->bytes += sum.size - s->rows.size;
    strbuf_release(&s->rows);
    s->rows = sum;
}

void interval_log_close(struct interval_log *t, struct ledger *l, uint64_t end_ns, uint32_t tick,
                        bool kept)
{
    struct slice *s = vec_push(&t->slices);
    bool marked = kept;
    kept = kept && t->kept < INTERVAL_LOG_KEPT;
    t->not_kept += marked && !kept;
    if (t->slices.count > 1 && s[-1].interval.end_ns > end_ns)
        end_ns = s[-1].interval.end_ns; /* a mark's time is the program's, others are ours */
    *s = (struct slice){.interval = {.end_ns = end_ns,
                                     .peak_bytes = ledger_end_interval(l),
                                     .unknown_frees = l->unknown_frees,
                                     .lost_events = l->lost_events,
                                     .truncated_stacks = l->truncated_stacks,
                                     .incomplete_stacks = l->incomplete_stacks},
                        .tick = tick,
                        .kept = kept,
                        .live_bytes = ledger_now(l).bytes,
                        .live_blocks = ledger_now(l).blocks,
                        .allocations = l->allocations};
    ledger_end_gpu_interval(l, end_ns);
    t->kept += kept;
    if (kept)
        t->marked_ns = end_ns;
    uint32_t previous = UINT32_MAX;
    sort_dirty(l);
    size_t rows = s->row_count = l->deltas.dirty.count;
    for (size_t i = 0; i < rows; i++) {
        struct row row = {.site = l->deltas.dirty.items[i]};
        struct account *a = &l->accounts.items[row.site];
        const struct delta delta = deltas_get(&l->deltas, a);
        memcpy(row.columns, delta.columns, sizeof row.columns);
        row_put(&s->rows, &previous, &row, &a->unit);
        ledger_note_own_peak(l, a);
        a->delta = 0;
    }
    s->rows.data = xrealloc(s->rows.data, s->rows.size + 1);
    s->rows.capacity = s->rows.size + 1;
    deltas_clear(&l->deltas);
    l->unknown_frees = l->lost_events = l->truncated_stacks = l->incomplete_stacks = 0;

    t->bytes += s->rows.size;
    size_t n = t->slices.count - t->kept;
    bool crowded = n >= INTERVAL_LOG_MIN && has_too_many_rows(t, l);
    t->crowded |= crowded;
    if (n >= INTERVAL_LOG_MAX || crowded) {
        merge_neighbours(t, l);
        t->length_ns *= 2;
    }
    uint64_t least_ns = rows * INTERVAL_LOG_ROW_NS;
    t->next_end_ns = end_ns + (t->length_ns > least_ns ? t->length_ns : least_ns);
}
