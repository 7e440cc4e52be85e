#include "export/heaptrack_blocks.h"

#include <stdlib.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct blocks blocks_of(struct value v)
{
    struct blocks b = {v.count > 0 ? (uint64_t)v.count : 0, v.amount > 0 ? (uint64_t)v.amount : 0};
    return b.count ? b : (struct blocks){0};
}

static bool less(struct blocks *out, struct blocks all, struct blocks part)
{
    *out = (struct blocks){all.count - part.count, all.bytes - part.bytes};
    return part.count <= all.count && part.bytes <= all.bytes && (out->count || !out->bytes);
}

/* Divides the blocks into classes, given how many stay; false: the bytes do not fit. */
static bool divide(struct site_blocks *s, struct blocks total, struct blocks peak,
                   struct blocks end, struct blocks temporary, uint64_t stay, uint64_t stay_bytes)
{
    struct blocks rest;
    s->of[BLOCKS_STAY] = (struct blocks){stay, stay_bytes};
    if ((!stay && stay_bytes) || !less(&s->of[BLOCKS_PEAK], peak, s->of[BLOCKS_STAY]) ||
        !less(&s->of[BLOCKS_END], end, s->of[BLOCKS_STAY]) || !less(&rest, total, peak) ||
        !less(&rest, rest, s->of[BLOCKS_END]))
        return false;
    uint64_t temporaries = least(temporary.count, rest.count);
    struct blocks t = {temporaries,
                       temporaries == rest.count ? rest.bytes : least(temporary.bytes, rest.bytes)};
    s->of[BLOCKS_TEMPORARY] = temporaries ? t : (struct blocks){0};
    return less(&s->of[BLOCKS_OTHER], rest, s->of[BLOCKS_TEMPORARY]);
}

static void divide_site(struct site_blocks *s, const struct value *values)
{
    struct blocks total = blocks_of(values[HEAPTRACK_TOTAL]),
                  peak = blocks_of(values[HEAPTRACK_PEAK]), end = blocks_of(values[HEAPTRACK_END]),
                  temporary = blocks_of(values[HEAPTRACK_TEMPORARY]);
    uint64_t most = least(peak.count, end.count);
    /* As many as possible stay: with as many bytes as both have, or with all that one of them
     * has. */
    for (uint64_t fewer = 0; fewer <= most && fewer < 3; fewer++) {
        uint64_t stay = most - fewer;
        uint64_t even = peak.count ? stay * (peak.bytes / peak.count) : 0;
        const uint64_t tries[] = {peak.bytes, end.bytes, least(even, least(peak.bytes, end.bytes)),
                                  least(peak.bytes, end.bytes), 0};
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
            if (divide(s, total, peak, end, temporary, stay, tries[i]))
                return;
    }
    if (divide(s, total, peak, end, temporary, 0, 0))
        return;
    /* The numbers contradict each other: a damaged file. */
    *s = (struct site_blocks){.of = {[BLOCKS_OTHER] = total}};
}

/* --- times ------------------------------------------------------------------------------------ */

/* A row of the log, in order of site. */
struct touch {
    uint32_t interval;
    uint64_t allocations, temporaries, live; /* live: at the end of the interval */
    struct site_step before, after; /* the peak; `before` is also used for other intervals */
};

/* The rows of each site of the table, in order of time. */
struct touches {
    size_t *first; /* by row of the table */
    VEC(struct touch) list;
};

static void collect_touches(struct touches *t, const struct stack_table *table)
{
    const struct profile *p = table->profile;
    uint32_t *row_of = xmalloc((p->sites.count + 1) * sizeof *row_of);
    uint64_t *live = xcalloc(table->rows.count + 1, sizeof *live);
    t->first = xcalloc(table->rows.count + 2, sizeof *t->first);
    for (size_t s = 0; s <= p->sites.count; s++)
        row_of[s] = CALL_NONE;
    for (uint32_t i = 0; i < table->rows.count; i++)
        row_of[table->rows.items[i].site] = i;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *iv = &p->intervals.items[i];
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++)
            if (row_of[p->rows.items[r].site] != CALL_NONE)
                t->first[row_of[p->rows.items[r].site] + 2]++;
    }
    for (size_t i = 2; i < table->rows.count + 2; i++)
        t->first[i] += t->first[i - 1];
    vec_reserve(&t->list, t->first[table->rows.count + 1] + 1);
    t->list.count = t->first[table->rows.count + 1];
    for (uint32_t i = 0; i < p->intervals.count; i++) {
        const struct interval *iv = &p->intervals.items[i];
        for (size_t r = iv->first_row; r < iv->first_row + iv->row_count; r++) {
            const struct row *row = &p->rows.items[r];
            uint32_t number = row_of[row->site];
            if (number == CALL_NONE)
                continue;
            struct touch *touch = &t->list.items[t->first[number + 1]++];
            live[number] += row->columns[COL_ALLOCS] - row->columns[COL_FREES];
            *touch = (struct touch){.interval = i,
                                    .allocations = row->columns[COL_ALLOCS],
                                    .temporaries = row->columns[COL_TEMPS],
                                    .live = live[number]};
        }
    }
    free(row_of);
    free(live);
}

/* Blocks that are live at the peak are allocated as late as the live counts since then permit. */
static void schedule_rise(struct touch *touches, size_t before, struct touch *at_peak,
                          uint64_t at_peak_blocks)
{
    uint64_t had = at_peak_blocks, risen = 0;
    for (size_t i = before; i-- > 0;) { /* the least from here to the peak */
        had = least(had, touches[i].live);
        touches[i].before.risen = had;
    }
    for (size_t i = 0; i < before; i++) {
        uint64_t until = touches[i].before.risen;
        touches[i].before.risen = until - risen;
        risen = until;
    }
    if (at_peak)
        at_peak->before.risen = at_peak_blocks - risen;
}

/* Blocks that do not stay are freed as early as possible, those of the end are allocated as late as
 * possible. */
static void schedule_fall(struct touch *touches, size_t count, const struct site_blocks *s)
{
    uint64_t stay = s->of[BLOCKS_STAY].count, left = stay + s->of[BLOCKS_PEAK].count;
    uint64_t kept = s->of[BLOCKS_END].count, done = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t now = least(left, touches[i].live);
        now = now < stay || i + 1 == count ? stay : now;
        touches[i].after.fallen = left - now;
        left = now;
        touches[i].after.kept = touches[i].live > left ? touches[i].live - left : 0;
    }
    for (size_t i = count; i-- > 0;) {
        kept = i + 1 == count ? kept : least(kept, touches[i].after.kept);
        touches[i].after.kept = kept;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t until = touches[i].after.kept;
        touches[i].after.kept = until - done;
        done = until;
    }
}

/* Blocks that come and go: temporary ones are known by interval, the others are put where
 * allocations are left over. */
static void schedule_transient(struct touch *touches, size_t count, const struct site_blocks *s,
                               size_t peak)
{
    uint64_t temporary = s->of[BLOCKS_TEMPORARY].count, other = s->of[BLOCKS_OTHER].count;
    for (size_t i = 0; i < count; i++) {
        struct touch *t = &touches[i];
        bool last = i + 1 == count;
        uint64_t scheduled = t->before.risen + t->after.kept + t->temporaries;
        uint64_t spare = t->allocations > scheduled ? t->allocations - scheduled : 0;
        struct site_step *step = t->interval > peak ? &t->after : &t->before;
        step->temporary = last ? temporary : least(temporary, t->temporaries);
        step->other = last ? other : least(other, spare);
        temporary -= step->temporary;
        other -= step->other;
    }
}

static void add_blocks(struct blocks *to, struct blocks *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    *from = (struct blocks){0};
}

static void schedule_row(struct heaptrack_blocks *b, const struct touches *t, uint32_t row)
{
    struct touch *touches = t->list.items + t->first[row];
    size_t count = t->first[row + 1] - t->first[row], before = 0;
    struct site_blocks *s = &b->sites[row];
    uint64_t at_peak = s->of[BLOCKS_STAY].count + s->of[BLOCKS_PEAK].count;
    while (before < count && touches[before].interval < b->peak)
        before++;
    bool in_peak = before < count && touches[before].interval == b->peak;
    if (!in_peak && !before && at_peak) { /* its first block came after the interval of the peak */
        add_blocks(&s->of[BLOCKS_END], &s->of[BLOCKS_STAY]);
        add_blocks(&s->of[BLOCKS_OTHER], &s->of[BLOCKS_PEAK]);
        s->ends_peak = false;
        at_peak = 0;
    }
    if (!in_peak && before)
        touches[before - 1].live = at_peak; /* nothing happened until the peak */
    schedule_rise(touches, before, in_peak ? &touches[before] : NULL, at_peak);
    schedule_fall(touches + before, count - before, s);
    schedule_transient(touches, count, s, b->peak);
}

static bool is_empty(const struct site_step *s)
{
    return !s->risen && !s->fallen && !s->kept && !s->temporary && !s->other;
}

/*
 * What is left to do at the end for a site where nothing happened since the peak. In the profile of
 * all processes, a process that ended before the peak held nothing at the peak, and counts at the
 * end with what it held when it ended. These blocks are allocated at the end, so that the peak
 * stays what it was. Where the interval of the peak is not known exactly, a site may have freed
 * before it what it had at the peak: these blocks are freed at the end.
 */
static struct site_step last_step(const struct heaptrack_blocks *b, const struct touches *t,
                                  uint32_t row)
{
    size_t count = t->first[row + 1] - t->first[row];
    const struct blocks *of = b->sites[row].of;
    if (b->peak >= b->table->profile->intervals.count ||
        (count && t->list.items[t->first[row + 1] - 1].interval >= b->peak))
        return (struct site_step){.row = row};
    return (struct site_step){
        .row = row, .kept = of[BLOCKS_END].count, .fallen = of[BLOCKS_PEAK].count};
}

static void add_steps(struct heaptrack_blocks *b, const struct touches *t, size_t rows)
{
    size_t intervals = b->table->profile->intervals.count;
    size_t *next = xcalloc(2 * intervals + 2, sizeof *next);
    b->first = xcalloc(2 * intervals + 2, sizeof *b->first);
    for (size_t i = 0; i < t->list.count; i++) {
        next[2 * t->list.items[i].interval + 1] += !is_empty(&t->list.items[i].before);
        next[2 * t->list.items[i].interval + 2] += !is_empty(&t->list.items[i].after);
    }
    for (uint32_t row = 0; row < rows; row++) {
        struct site_step last = last_step(b, t, row);
        next[2 * intervals] += !is_empty(&last);
    }
    for (size_t i = 1; i < 2 * intervals + 2; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < 2 * intervals + 2; i++)
        b->first[i] = next[i];
    vec_reserve(&b->steps, next[2 * intervals + 1] + 1);
    b->steps.count = next[2 * intervals + 1];
    for (uint32_t row = 0; row < rows; row++) {
        struct site_step last = last_step(b, t, row);
        if (!is_empty(&last))
            b->steps.items[next[2 * intervals - 1]++] = last;
        for (size_t i = t->first[row]; i < t->first[row + 1]; i++) {
            struct touch *touch = &t->list.items[i];
            touch->before.row = touch->after.row = row;
            if (!is_empty(&touch->before))
                b->steps.items[next[2 * touch->interval]++] = touch->before;
            if (!is_empty(&touch->after))
                b->steps.items[next[2 * touch->interval + 1]++] = touch->after;
        }
    }
    free(next);
}

void heaptrack_blocks_init(struct heaptrack_blocks *b, const struct stack_table *t)
{
    const struct profile *p = t->profile;
    struct touches touches = {0};
    *b = (struct heaptrack_blocks){.table = t,
                                   .sites = xcalloc(t->rows.count + 1, sizeof *b->sites)};
    b->peak = profile_peak_interval(p);
    bool ended = false; /* one allocation makes the peak */
    for (size_t i = 0; i < t->rows.count; i++) {
        struct site_blocks *s = &b->sites[i];
        divide_site(s, t->rows.items[i].values);
        uint64_t wanted = blocks_of(t->rows.items[i].values[HEAPTRACK_TEMPORARY]).count;
        uint64_t missing = wanted - least(wanted, s->of[BLOCKS_TEMPORARY].count);
        if (missing && s->of[BLOCKS_PEAK].count && !ended) {
            ended = s->ends_peak = true;
            missing--;
        }
        b->temporaries_missing += missing;
    }
    collect_touches(&touches, t);
    for (uint32_t i = 0; i < t->rows.count; i++)
        schedule_row(b, &touches, i);
    add_steps(b, &touches, t->rows.count);
    free(touches.first);
    vec_release(&touches.list);
}

void heaptrack_blocks_release(struct heaptrack_blocks *b)
{
    free(b->sites);
    free(b->first);
    vec_release(&b->steps);
}
