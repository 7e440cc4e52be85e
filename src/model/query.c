#include "model/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

static const char *const metric_names[METRICS] = {
    [METRIC_LIVE] = "live",
    [METRIC_TOTAL] = "total",
    [METRIC_PEAK] = "peak",
    [METRIC_SITEPEAK] = "sitepeak",
    [METRIC_LARGEST] = "largest",
    [METRIC_TEMPORARY] = "temporary",
    [METRIC_MAPPED] = "mapped",
    [METRIC_POOL] = "pool",
    [METRIC_GPU] = "gpu",
    [METRIC_TENSOR] = "tensor",
    [METRIC_CPU] = "cpu",
    [METRIC_FAULTS] = "faults",
    [METRIC_UNTOUCHED] = "untouched",
    [METRIC_TOUCHED] = "touched",
    [METRIC_WALL] = "wall",
    [METRIC_WAITING] = "waiting",
    [METRIC_SAMPLES] = "samples",
};

static const char *const grouping_names[GROUPINGS] = {
    [BY_FUNCTION] = "function", [BY_LINE] = "line", [BY_STACK] = "stack",
    [BY_LIBRARY] = "library",   [BY_FILE] = "file", [BY_THREAD] = "thread",
};

static const char *const size_names[SIZE_KINDS] = {
    [SIZE_REQUESTED] = "requested",
    [SIZE_USABLE] = "usable",
    [SIZE_OVERHEAD] = "overhead",
};

static const char *const histogram_names[HISTOGRAM_KINDS] = {
    [HISTOGRAM_NONE] = "none",
    [HISTOGRAM_SIZE] = "size",
    [HISTOGRAM_LIFETIME] = "lifetime",
};

void query_init(struct query *q)
{
    *q = (struct query){.top = QUERY_ALL};
}

void query_release(struct query *q)
{
    stack_filter_release(&q->filter);
}

const char *metric_name(enum metric m)
{
    return metric_names[m];
}

const char *grouping_name(enum grouping g)
{
    return grouping_names[g];
}

const char *size_kind_name(enum size_kind s)
{
    return size_names[s];
}

const char *histogram_kind_name(enum histogram_kind h)
{
    return histogram_names[h];
}

/* The index of `word` in the list, or -EINVAL and "--metric 'x' is not known; it is one of a,
 * b". */
static int choose(const char *option, const char *word, const char *const *names, int count,
                  struct err *err)
{
    for (int i = 0; i < count; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    struct strbuf list = {0};
    for (int i = 0; i < count; i++)
        strbuf_printf(&list, "%s%s", i ? ", " : "", names[i]);
    err_set(err, -EINVAL, "%s '%s' is not known; it is one of %s", option, word, list.data);
    strbuf_release(&list);
    return -EINVAL;
}

int metric_parse(const char *word, enum metric *out, struct err *err)
{
    int n = choose("--metric", word, metric_names, METRICS, err);
    if (n >= 0)
        *out = (enum metric)n;
    return n < 0 ? n : 0;
}

int grouping_parse(const char *word, enum grouping *out, struct err *err)
{
    int n = choose("--by", word, grouping_names, GROUPINGS, err);
    if (n >= 0)
        *out = (enum grouping)n;
    return n < 0 ? n : 0;
}

int size_kind_parse(const char *word, enum size_kind *out, struct err *err)
{
    int n = choose("--size", word, size_names, SIZE_KINDS, err);
    if (n >= 0)
        *out = (enum size_kind)n;
    return n < 0 ? n : 0;
}

int histogram_kind_parse(const char *word, enum histogram_kind *out, struct err *err)
{
    int n = choose("--histogram", word, histogram_names + 1, HISTOGRAM_KINDS - 1, err);
    if (n >= 0)
        *out = (enum histogram_kind)(n + 1);
    return n < 0 ? n : 0;
}
