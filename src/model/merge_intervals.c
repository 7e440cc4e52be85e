#include "model/merge_intervals.h"

#include <stdlib.h>

/* The number of intervals before the process began to end; all of them if that is not known. */
static size_t before_exit(const struct profile *p)
{
    for (size_t i = p->scans.count; i-- > 0;)
        if (p->scans.items[i].kind == SCAN_EXIT)
            return p->scans.items[i].intervals;
    return p->intervals.count;
}

/* Joins the intervals [from, to) into one; appends its rows to `rows`, in order of site. */
static struct interval joined(const struct profile *p, size_t from, size_t to,
                              uint64_t (*sums)[COLUMNS], struct row *rows, size_t *count)
{
    struct interval all = {.end_ns = to ? p->intervals.items[to - 1].end_ns : 0,
                           .first_row = *count};
    for (size_t i = from; i < to; i++) {
        const struct interval *v = &p->intervals.items[i];
        all.unknown_frees += v->unknown_frees;
        all.lost_events += v->lost_events;
        all.truncated_stacks += v->truncated_stacks;
        all.incomplete_stacks += v->incomplete_stacks;
        all.peak_bytes = v->peak_bytes > all.peak_bytes ? v->peak_bytes : all.peak_bytes;
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++) {
            const struct row *row = &p->rows.items[k];
            uint64_t *sum = sums[row->site];
            for (int c = 0; c < COLUMNS; c++)
                sum[c] += row->columns[c];
        }
    }
    for (uint32_t s = 0; s < p->sites.count; s++) {
        struct row row = {.site = s};
        uint64_t any = 0;
        for (int c = 0; c < COLUMNS; c++) {
            any |= row.columns[c] = sums[s][c];
            sums[s][c] = 0;
        }
        if (any)
            rows[(*count)++] = row;
    }
    all.row_count = *count - all.first_row;
    return all;
}

void profile_merge_intervals(struct profile *p)
{
    size_t exit = before_exit(p), end = p->intervals.count, count = 0;
    if (end <= 2)
        return;
    uint64_t(*sums)[COLUMNS] = xcalloc(p->sites.count + 1, sizeof *sums);
    struct row *rows = xmalloc((2 * p->sites.count + 1) * sizeof *rows);
    exit = exit < end ? exit : end;
    struct interval two[2] = {joined(p, 0, exit, sums, rows, &count)};
    two[1] = joined(p, exit, end, sums, rows, &count);
    size_t intervals = exit < end ? 2 : 1;
    for (size_t i = 0; i < p->scans.count; i++)
        p->scans.items[i].intervals = p->scans.items[i].intervals < end ? 1 : intervals;
    for (size_t i = 0; i < p->marks.count; i++)
        p->marks.items[i].intervals = p->marks.items[i].intervals < end ? 1 : intervals;
    vec_release(&p->rows);
    p->rows.items = rows;
    p->rows.count = count;
    p->rows.capacity = 2 * p->sites.count + 1;
    for (size_t i = 0; i < intervals; i++)
        p->intervals.items[i] = two[i];
    p->intervals.count = intervals;
    p->python_end = 0;
    free(sums);
}
