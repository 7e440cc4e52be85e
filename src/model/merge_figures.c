/*
 * merge_figures: adds up the figures of the call sites of many recordings. A site of the result is
 * one (stack, name of the thread, domain). Its unit is 0, because sizes differ between inputs; so
 * the histogram of sizes has a row for every bucket.
 */
#include "model/merge_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/divisor.h"
#include "store/buckets.h"

#define THREADS_MOST  65535u
#define OTHER_THREADS "(other threads)"

void merge_figures_init(struct merge_figures *f)
{
    *f = (struct merge_figures){0};
    strpool_add(&f->threads, "");
    for (int i = 0; i < SCAN_KINDS; i++)
        f->scans[i].residency = f->scans[i].led = true;
}

void merge_figures_release(struct merge_figures *f)
{
    strpool_release(&f->threads);
    vec_release(&f->sites);
    map_release(&f->site_of);
    for (int i = 0; i < SCAN_KINDS; i++) {
        free(f->scans[i].unreachable);
        vec_release(&f->scans[i].rows);
        map_release(&f->scans[i].of);
    }
    vec_release(&f->sizes);
    vec_release(&f->lifetimes);
    map_release(&f->size_of);
    map_release(&f->life_of);
    vec_release(&f->freed_readings);
    vec_release(&f->chains);
    map_release(&f->freed_of);
    map_release(&f->chain_of);
}

/* --- sites ------------------------------------------------------------------------------------ */

static uint32_t site_of(struct merge_figures *f, uint32_t node, uint32_t thread, uint32_t domain)
{
    uint64_t key = (uint64_t)node << 24 | (uint64_t)thread << 8 | domain;
    uint32_t *site = map_at(&f->site_of, key);
    if (*site == MAP_NONE) {
        *site = (uint32_t)f->sites.count;
        *vec_push(&f->sites) =
            (struct merge_site){.node = node, .thread = thread, .domain = domain};
    }
    return *site;
}

static void add_sites(struct merge_figures *f, struct merge_source *s)
{
    const struct profile *p = s->profile;
    s->thread = xcalloc(p->threads.count + 1, sizeof *s->thread);
    for (size_t i = 0; i < p->threads.count; i++) {
        const char *name = p->threads.items[i].name ? p->threads.items[i].name : "";
        uint32_t number = strpool_add(&f->threads, name);
        s->thread[i] = number < THREADS_MOST ? number : strpool_add(&f->threads, OTHER_THREADS);
        if (s->thread[i] > THREADS_MOST)
            s->thread[i] = THREADS_MOST;
    }
    s->site = xcalloc(p->sites.count + 1, sizeof *s->site);
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *from = &p->sites.items[i];
        s->site[i] = site_of(f, s->node[from->node], s->thread[from->thread], from->domain);
        struct merge_site *to = &f->sites.items[s->site[i]];
        to->at_peak_bytes += from->at_peak_bytes;
        to->at_peak_blocks += from->at_peak_blocks;
        to->at_peak_usable += from->at_peak_usable;
        to->own_peak_blocks += from->own_peak_blocks;
        to->own_peak_bytes += from->own_peak_bytes;
        if (from->largest_bytes > to->largest_bytes)
            to->largest_bytes = from->largest_bytes;
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_rows(struct merge_figures *f, const struct merge_source *s)
{
    const struct profile *p = s->profile;
    const struct scan *exit = profile_scan(p, SCAN_EXIT);
    size_t end = exit ? exit->intervals : p->intervals.count;
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        int which = i >= end;
        struct interval *sum = &f->intervals[which];
        sum->unknown_frees += v->unknown_frees;
        sum->lost_events += v->lost_events;
        sum->truncated_stacks += v->truncated_stacks;
        sum->incomplete_stacks += v->incomplete_stacks;
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
            const struct row *row = &p->rows.items[k];
            uint64_t *columns = f->sites.items[s->site[row->site]].columns[which];
            for (int n = 0; n < COLUMNS; n++)
                columns[n] += row->columns[n];
        }
    }
}

/* --- scans ------------------------------------------------------------------------------------ */

static uint64_t key_of(const struct live_row *row)
{
    return (uint64_t)row->site << 32 | row->interval;
}

/* `interval` is the one of the merge: 0 up to when the input began to end, 1 since. */
static void add_live(struct merge_scan *to, const struct merge_source *s,
                     const struct live_row *from, uint32_t interval)
{
    uint32_t site = s->site[from->site];
    struct live_row key = *from;
    key.site = site;
    key.interval = interval;
    uint32_t *number = map_at(&to->of, merge_live_key(&key));
    if (*number == MAP_NONE) {
        *number = (uint32_t)to->rows.count;
        *vec_push(&to->rows) =
            (struct live_row){.site = site, .interval = interval, .reach = from->reach};
    }
    struct live_row *row = &to->rows.items[*number];
    row->blocks += from->blocks;
    row->bytes += from->bytes;
    row->usable += from->usable;
    row->untouched += from->untouched;
    row->led_blocks += from->led_blocks;
    row->led_bytes += from->led_bytes;
}

/* `old` has the rows whose blocks were there when the input began to end; NULL: all were. */
static void add_scan(struct merge_figures *f, const struct merge_source *s, const struct scan *from,
                     enum scan_kind kind, const struct map *old)
{
    struct merge_scan *to = &f->scans[kind];
    bool lost = false;
    for (size_t i = 0; i < from->row_count; i++) {
        const struct live_row *row = &s->profile->live.items[from->first_row + i];
        lost |= row->reach == REACH_LOST || row->reach == REACH_INDIRECT;
        add_live(to, s, row, old && map_get(old, key_of(row)) == MAP_NONE);
    }
    to->residency &= from->residency;
    to->led &= !lost || from->led;
    to->held_ns += from->held_ns;
    to->time_ns = from->time_ns > to->time_ns ? from->time_ns : to->time_ns;
    if (from->unreachable && (!to->unreachable || strcmp(from->unreachable, to->unreachable) < 0)) {
        free(to->unreachable);
        to->unreachable = xstrdup(from->unreachable);
    }
}

/* An input that was killed never began to end: its last state is used for that as well. */
static void add_scans(struct merge_figures *f, const struct merge_source *s)
{
    const struct scan *end = profile_scan(s->profile, SCAN_END),
                      *exit = profile_scan(s->profile, SCAN_EXIT);
    struct map old = {0};
    for (size_t i = 0; exit && i < exit->row_count; i++)
        *map_at(&old, key_of(&s->profile->live.items[exit->first_row + i])) = 0;
    if (end) {
        add_scan(f, s, end, SCAN_END, exit ? &old : NULL);
        f->scans[SCAN_END].there = true;
    }
    if (exit || end)
        add_scan(f, s, exit ? exit : end, SCAN_EXIT, NULL);
    f->scans[SCAN_EXIT].there |= exit != NULL;
    map_release(&old);
}

/* --- histograms and chains -------------------------------------------------------------------- */

static void add_bucket(struct bucket_rows *rows, struct map *of, uint32_t site, uint32_t bucket,
                       uint64_t count, uint64_t bytes)
{
    uint32_t *number = map_at(of, (uint64_t)site << 8 | bucket);
    if (*number == MAP_NONE) {
        *number = (uint32_t)rows->count;
        *vec_push(rows) = (struct bucket_row){.site = site, .bucket = bucket};
    }
    rows->items[*number].count += count;
    rows->items[*number].bytes += bytes;
}

/* Allocations that are in no row belong to the bucket of the site's unit: here they get a row. */
static void add_sizes(struct merge_figures *f, const struct merge_source *s)
{
    const struct profile *p = s->profile;
    struct rest {
        uint64_t count, bytes;
    } *rest = xcalloc(p->sites.count + 1, sizeof *rest);
    for (size_t i = 0; i < p->rows.count; i++) {
        const struct row *row = &p->rows.items[i];
        rest[row->site].count += row->columns[COL_ALLOCS];
        rest[row->site].bytes += row->columns[COL_BYTES];
    }
    for (size_t i = 0; i < p->sizes.count; i++) {
        const struct bucket_row *row = &p->sizes.items[i];
        rest[row->site].count -= row->count;
        rest[row->site].bytes -= row->bytes;
        add_bucket(&f->sizes, &f->size_of, s->site[row->site], row->bucket, row->count, row->bytes);
    }
    for (size_t i = 0; i < p->sites.count; i++)
        if (domain_is_live(p->sites.items[i].domain) && (rest[i].count || rest[i].bytes))
            add_bucket(&f->sizes, &f->size_of, s->site[i],
                       size_bucket(p->sites.items[i].unit_bytes), rest[i].count, rest[i].bytes);
    free(rest);
}

static void add_histograms(struct merge_figures *f, const struct merge_source *s)
{
    const struct profile *p = s->profile;
    f->no_histograms |= !p->has_histograms;
    add_sizes(f, s);
    for (size_t i = 0; i < p->lifetimes.count; i++) {
        const struct bucket_row *row = &p->lifetimes.items[i];
        add_bucket(&f->lifetimes, &f->life_of, s->site[row->site], row->bucket, row->count,
                   row->bytes);
    }
    for (size_t i = 0; i < p->freed_readings.count; i++) {
        const struct freed_reading *from = &p->freed_readings.items[i];
        uint32_t *number = map_at(&f->freed_of, s->site[from->site]);
        if (*number == MAP_NONE) {
            *number = (uint32_t)f->freed_readings.count;
            *vec_push(&f->freed_readings) = (struct freed_reading){.site = s->site[from->site]};
        }
        struct freed_reading *to = &f->freed_readings.items[*number];
        to->blocks += from->blocks;
        to->bytes += from->bytes;
        to->untouched_blocks += from->untouched_blocks;
        to->untouched += from->untouched;
    }
}

static void add_chain(struct chain_figures *to, const struct chain_figures *from)
{
#define ADD(member)     to->member += from->member
#define HIGHEST(member) to->member = from->member > to->member ? from->member : to->member
    ADD(chains);
    ADD(growths);
    ADD(by_realloc);
    ADD(in_place);
    ADD(even);
    ADD(otherwise);
    ADD(old_bytes);
    ADD(new_bytes);
    ADD(copied_bytes);
    HIGHEST(longest);
    HIGHEST(largest_bytes);
    HIGHEST(transient_bytes);
    HIGHEST(left_bytes);
    to->first_bytes = from->first_bytes < to->first_bytes ? from->first_bytes : to->first_bytes;
    to->unit_bytes = common_divisor(to->unit_bytes, from->unit_bytes);
#undef ADD
#undef HIGHEST
}

static void add_chains(struct merge_figures *f, const struct merge_source *s)
{
    for (size_t i = 0; i < s->profile->chains.count; i++) {
        const struct chain_row *from = &s->profile->chains.items[i];
        uint32_t site = s->site[from->site], *number = map_at(&f->chain_of, site);
        if (*number == MAP_NONE) {
            *number = (uint32_t)f->chains.count;
            *vec_push(&f->chains) = (struct chain_row){.site = site, .of = from->of};
        } else {
            add_chain(&f->chains.items[*number].of, &from->of);
        }
    }
}

void merge_figures_add(struct merge_figures *f, struct merge_source *s)
{
    add_sites(f, s);
    add_rows(f, s);
    add_scans(f, s);
    add_histograms(f, s);
    add_chains(f, s);
}
