#include "analyse/chains.h"

#include <stdlib.h>

#include "store/buckets.h"

#define LENGTH_LEAST 4           /* sizes: fewer may be chance */
#define COPIED_LEAST (64 * 1024) /* bytes: less is not worth a line */

struct tally {
    uint64_t allocs, frees, reallocs;
};

static struct tally *tally_sites(const struct profile *p)
{
    struct tally *all = xcalloc(p->sites.count + 1, sizeof *all);
    for (size_t i = 0; i < p->rows.count; i++) {
        const struct row *row = &p->rows.items[i];
        all[row->site].allocs += row->columns[COL_ALLOCS];
        all[row->site].frees += row->columns[COL_FREES];
        all[row->site].reallocs += row->columns[COL_REALLOCS];
    }
    return all;
}

struct sizes {
    uint64_t count[SIZE_BUCKETS], bytes[SIZE_BUCKETS];
};

/* `next`: of p->sizes, which are in order of site. */
static void sizes_of(struct sizes *z, const struct profile *p, uint32_t site, uint64_t allocs,
                     size_t *next)
{
    *z = (struct sizes){0};
    uint64_t seen = 0;
    while (*next < p->sizes.count && p->sizes.items[*next].site < site)
        ++*next;
    for (; *next < p->sizes.count && p->sizes.items[*next].site == site; ++*next) {
        const struct bucket_row *row = &p->sizes.items[*next];
        if (row->bucket >= SIZE_BUCKETS)
            continue;
        z->count[row->bucket] += row->count;
        z->bytes[row->bucket] += row->bytes;
        seen += row->count;
    }
    uint64_t unit = p->sites.items[site].unit_bytes;
    z->count[size_bucket(unit)] += allocs - seen;
    z->bytes[size_bucket(unit)] += (allocs - seen) * unit;
}

/* false: it is none. */
static bool chain_of(struct chain *c, const struct sizes *z, const struct site *site,
                     const struct tally *t)
{
    unsigned top = size_bucket(site->largest_bytes), bottom = top, used = 0;
    for (unsigned b = 0; b < SIZE_BUCKETS; b++)
        used += z->count[b] > 0;
    if (used < LENGTH_LEAST || used > top + 1)
        return false;
    for (unsigned i = 0; i < used; i++) {
        unsigned b = top - i;
        uint64_t size = site->largest_bytes >> i;
        if (!z->count[b] || z->bytes[b] != z->count[b] * size || size << i != site->largest_bytes ||
            (i && z->count[b] < z->count[b + 1]))
            return false;
        bottom = b;
        if (!i)
            continue;
        c->growths += z->count[b + 1];
        c->copied_bytes += z->count[b + 1] * size;
    }
    c->count = z->count[bottom];
    c->length = used;
    c->first_bytes = site->largest_bytes >> (used - 1);
    c->final_bytes = site->largest_bytes;
    c->transient_peak_bytes = site->largest_bytes + site->largest_bytes / 2;
    c->by_realloc = t->reallocs > 0;
    return t->allocs - t->frees <= c->count && site->own_peak_blocks <= c->count + 1 &&
           c->copied_bytes >= COPIED_LEAST;
}

static int by_copied(const void *a, const void *b)
{
    const struct chain *x = a, *y = b;
    if (x->copied_bytes != y->copied_bytes)
        return x->copied_bytes > y->copied_bytes ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

void chains_find(struct chains *c, const struct places *places)
{
    const struct profile *p = places->total.profile;
    *c = (struct chains){0};
    if (!p->has_histograms)
        return;
    struct tally *tallies = tally_sites(p);
    size_t next = 0;
    for (uint32_t site = 0; site < p->sites.count; site++) {
        struct chain chain = {0};
        struct sizes sizes;
        if (places->of_site[site] == PLACE_NONE || p->sites.items[site].domain != DOMAIN_HEAP)
            continue;
        sizes_of(&sizes, p, site, tallies[site].allocs, &next);
        if (!chain_of(&chain, &sizes, &p->sites.items[site], &tallies[site]))
            continue;
        chain.call = places->total.tree.site_call[site];
        *vec_push(&c->list) = chain;
    }
    free(tallies);
    if (c->list.count)
        qsort(c->list.items, c->list.count, sizeof *c->list.items, by_copied);
}

void chains_release(struct chains *c)
{
    vec_release(&c->list);
}
