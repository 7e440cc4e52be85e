#include "model/imported.h"

#include <errno.h>
#include <string.h>

/* The figures that a metric needs. */
static uint32_t needed(enum metric metric)
{
    static const uint32_t bits[METRICS] = {
        [METRIC_LIVE] = UNKNOWN_LIVE,       [METRIC_TOTAL] = UNKNOWN_TOTALS,
        [METRIC_PEAK] = UNKNOWN_PEAK,       [METRIC_SITEPEAK] = UNKNOWN_OWN_PEAK,
        [METRIC_LARGEST] = UNKNOWN_LARGEST, [METRIC_TEMPORARY] = UNKNOWN_TEMPORARY,
        [METRIC_MAPPED] = UNKNOWN_MAPPED,   [METRIC_POOL] = UNKNOWN_MAPPED,
        [METRIC_GPU] = UNKNOWN_MAPPED,      [METRIC_TENSOR] = UNKNOWN_MAPPED,
        [METRIC_CPU] = UNKNOWN_CPU_TIME,
    };
    return bits[metric];
}

/* Samples may be all that a recording has; if it has none, it has no such domain. */
static bool has_domain(const struct profile *p, enum metric metric)
{
    bool cpu = metric == METRIC_CPU || metric == METRIC_SAMPLES;
    return cpu ? p->sampling.cpu_period_ns != 0 : !p->sampling.alone;
}

bool metric_is_known(const struct profile *p, enum metric metric)
{
    return has_domain(p, metric) && !profile_lacks(p, needed(metric));
}

static void list_known(const struct profile *p, struct strbuf *out)
{
    for (int m = 0; m < METRICS; m++) {
        bool plain = m <= METRIC_TEMPORARY || m == METRIC_CPU || m == METRIC_SAMPLES;
        if (plain && metric_is_known(p, (enum metric)m))
            strbuf_printf(out, "%s%s", out->size ? ", " : "", metric_name((enum metric)m));
    }
}

int known_metric(const struct profile *p, enum metric metric, enum size_kind size, struct err *err)
{
    struct strbuf names = {0};
    if (!p->imported.from)
        return 0;
    if (size != SIZE_REQUESTED)
        return known_all(p, UNKNOWN_USABLE, "usable sizes", err);
    if (metric_is_known(p, metric))
        return 0;
    list_known(p, &names);
    err_set(err, -ENODATA,
            "this recording has no metric %s: it was imported from %.100s; it has %s",
            metric_name(metric), p->imported.from, names.size ? names.data : "none");
    strbuf_release(&names);
    return -ENODATA;
}

int known_all(const struct profile *p, uint32_t need, const char *what, struct err *err)
{
    if (!profile_lacks(p, need))
        return 0;
    return err_set(err, -ENODATA, "this recording does not know %s: it was imported from %.100s",
                   what, p->imported.from ? p->imported.from : "another tool");
}

int known_moment(const struct profile *p, const char *word, bool is_time, struct err *err)
{
    if (strcmp(word, "start") == 0 || strcmp(word, "end") == 0)
        return 0;
    if (strcmp(word, "peak") == 0)
        return known_all(p, UNKNOWN_PEAK, "the peak", err);
    if (is_time && profile_lacks(p, UNKNOWN_TIME) && !strchr(word, '%'))
        return known_all(p, UNKNOWN_TIME, "times", err);
    return known_all(p, UNKNOWN_HISTORY, "moments between the start and the end", err);
}

enum metric known_default(const struct profile *p)
{
    static const enum metric wanted[] = {METRIC_LIVE, METRIC_PEAK, METRIC_TOTAL, METRIC_CPU,
                                         METRIC_SAMPLES};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (metric_is_known(p, wanted[i]))
            return wanted[i];
    return METRIC_LIVE;
}
