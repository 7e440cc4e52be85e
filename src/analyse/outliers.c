#include "analyse/outliers.h"

#include <stdlib.h>

#define NORMAL_SCALE 1.4826 /* from the median distance to a standard deviation */
#define DEVIATIONS   5
#define SHARE        1.5
#define LEAST_INPUTS 3 /* among fewer, none is an exception */

enum input_value outliers_value(enum metric m)
{
    switch (m) {
    case METRIC_LIVE:
        return INPUT_LIVE_BYTES;
    case METRIC_TOTAL:
        return INPUT_BYTES_ALLOCATED;
    case METRIC_PEAK:
        return INPUT_PEAK_BYTES;
    case METRIC_CPU:
        return INPUT_CPU_NS;
    case METRIC_FAULTS:
        return INPUT_FAULT_BYTES;
    default:
        return INPUT_VALUES;
    }
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The lower of the two middle values. */
static uint64_t median_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(count - 1) / 2];
}

/* qsort has no context. */
static const struct merge *compared;
static enum input_value compared_value;

static int larger_first(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t x = compared->inputs.items[i].values[compared_value],
             y = compared->inputs.items[k].values[compared_value];
    if (x != y)
        return x > y ? -1 : 1;
    return (i > k) - (i < k);
}

void outliers_find(struct outliers *o, const struct merge *m, enum input_value value)
{
    size_t count = m->inputs.count;
    *o = (struct outliers){0};
    if (!count || value >= INPUT_VALUES)
        return;
    uint64_t *values = xcalloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = m->inputs.items[i].values[value];
    o->median = median_of(values, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t v = m->inputs.items[i].values[value];
        values[i] = v > o->median ? v - o->median : o->median - v;
    }
    double deviation = NORMAL_SCALE * (double)median_of(values, count);
    double above = (double)o->median + DEVIATIONS * deviation;
    if (above < SHARE * (double)o->median)
        above = SHARE * (double)o->median;
    for (size_t i = 0; i < count && count >= LEAST_INPUTS; i++)
        if ((double)m->inputs.items[i].values[value] > above)
            *vec_push(&o->inputs) = (uint32_t)i;
    free(values);
    compared = m;
    compared_value = value;
    if (o->inputs.count)
        qsort(o->inputs.items, o->inputs.count, sizeof *o->inputs.items, larger_first);
}

void outliers_release(struct outliers *o)
{
    vec_release(&o->inputs);
}
