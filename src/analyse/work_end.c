#include "analyse/work_end.h"

#include "analyse/leak_scan.h"

/* An interpreter that ends makes fewer than one in so many of the allocations. */
#define WORK_AFTER 10

static double allocations(const struct profile *p, size_t since, size_t until)
{
    double sum = 0;
    for (size_t i = since; i < until; i++) {
        const struct interval *v = &p->intervals.items[i];
        for (size_t k = v->first_row; k < v->first_row + v->row_count; k++)
            if (p->sites.items[p->rows.items[k].site].domain == DOMAIN_HEAP)
                sum += (double)p->rows.items[k].columns[COL_ALLOCS];
    }
    return sum;
}

static size_t end_of_python(const struct profile *p)
{
    size_t end = p->python_end;
    if (!end)
        return 0;
    double before = allocations(p, 0, end), after = allocations(p, end, p->intervals.count);
    return after * WORK_AFTER < before + after ? end : 0;
}

/* The number of intervals up to its last scan, for which it was stopped: it does nothing after
 * that. */
static size_t until_last_scan(const struct profile *p)
{
    const struct scan *end = profile_scan(p, SCAN_END);
    size_t n = p->intervals.count;
    while (end && end->time_ns && n > 1 && p->intervals.items[n - 2].end_ns > end->time_ns)
        n--;
    return n;
}

struct work_end work_end_of(const struct profile *p)
{
    size_t python = end_of_python(p);
    const struct scan *ending = profile_scan(p, SCAN_EXIT), *end = profile_scan(p, SCAN_END);
    return (struct work_end){.python = python,
                             .intervals = python                        ? python
                                          : ending && ending->intervals ? ending->intervals
                                                                        : until_last_scan(p),
                             .time_ns = python   ? p->intervals.items[python - 1].end_ns
                                        : ending ? ending->time_ns
                                        : end && end->time_ns ? end->time_ns
                                                              : UINT64_MAX};
}
