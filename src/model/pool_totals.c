#include "model/pool_totals.h"

#include <stdlib.h>
#include <string.h>

/* The NAME in "[pool NAME]", which is the function name of a pool's node. */
static struct pool_total pool_named(const struct recording *r, const struct profile *p,
                                    uint64_t address)
{
    static const char before[] = "[pool ";
    uint32_t run = map_get(&p->symbols, address);
    struct pool_total pool = {.name = "?", .name_size = 1};
    if (run == MAP_NONE || run >= p->frame_runs.count ||
        p->frame_runs.items[run] >= p->frames.count)
        return pool;
    const char *name = strpool_get(&r->strings, p->frames.items[p->frame_runs.items[run]].function);
    size_t size = strlen(name), prefix = sizeof before - 1;
    if (size > prefix && strncmp(name, before, prefix) == 0 && name[size - 1] == ']') {
        pool.name = name + prefix;
        pool.name_size = size - prefix - 1;
    }
    return pool;
}

static int by_size(const void *left, const void *right)
{
    const struct pool_total *a = left, *b = right;
    if (a->live.amount != b->live.amount)
        return a->live.amount > b->live.amount ? -1 : 1;
    size_t size = a->name_size < b->name_size ? a->name_size : b->name_size;
    int order = memcmp(a->name, b->name, size);
    return order ? order : (a->name_size > b->name_size) - (a->name_size < b->name_size);
}

void pool_totals_init(struct pool_totals *t, const struct recording *r, const struct profile *p,
                      const struct window *w)
{
    struct measure m = {0};
    struct map by_address = {0};
    *t = (struct pool_totals){0};
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.items[i];
        if (s->domain != DOMAIN_POOL || s->node >= p->nodes.count)
            continue;
        if (!m.sites)
            measure_sites(&m, p, METRIC_POOL, SIZE_REQUESTED, w);
        uint64_t address = p->nodes.items[s->node].address;
        uint32_t *place = map_at(&by_address, address);
        if (*place == MAP_NONE) {
            *place = (uint32_t)t->pools.count;
            *vec_push(&t->pools) = pool_named(r, p, address);
        }
        value_join(&t->pools.items[*place].live, m.sites[i], false);
        value_join(&t->live, m.sites[i], false);
    }
    if (t->pools.count)
        qsort(t->pools.items, t->pools.count, sizeof *t->pools.items, by_size);
    measure_release(&m);
    map_release(&by_address);
}

void pool_totals_release(struct pool_totals *t)
{
    vec_release(&t->pools);
}
