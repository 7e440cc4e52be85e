#include "analyse/planted_leaks.h"

#include <string.h>

static bool is_planted(const struct recording *r, const struct mark_value *v)
{
    return strcmp(strpool_get(&r->strings, v->key), PLANTED_KEY) == 0;
}

double planted_between(const struct recording *r, const struct profile *p, size_t after,
                       size_t last)
{
    double sum = 0;
    for (size_t i = 0; i < p->mark_values.count; i++) {
        const struct mark_value *v = &p->mark_values.items[i];
        if (v->mark > after && v->mark <= last && is_planted(r, v))
            sum += v->value;
    }
    return sum;
}

uint64_t planted_unit(const struct recording *r, const struct profile *p)
{
    for (size_t i = 0; i < p->mark_values.count; i++) {
        const struct mark_value *v = &p->mark_values.items[i];
        if (is_planted(r, v) && v->value >= 1 && v->value < 0x1p62)
            return (uint64_t)v->value;
    }
    return 0;
}

bool planted_is_site(const struct site *s, uint64_t unit)
{
    return unit && s->domain == DOMAIN_HEAP && s->unit_bytes == unit && s->unit_usable == unit &&
           s->largest_bytes == unit;
}
