#include "analyse/growth_account.h"

#include <stdlib.h>

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The last is that of the program's end, if there is one; the first is the one nearest to where
 * counting begins. */
static void choose(struct growth_account *a, const struct profile *p, uint64_t since_ns)
{
    size_t count = p->footprints.count;
    if (!count)
        return;
    a->last = &p->footprints.items[count - 1];
    for (size_t i = 0; i + 1 < count; i++) {
        const struct footprint *f = &p->footprints.items[i];
        if (!a->first || distance(f->time_ns, since_ns) < distance(a->first->time_ns, since_ns))
            a->first = f;
    }
    /* A first footprint that was taken late shows little. */
    if (a->first && a->first->time_ns > since_ns &&
        a->first->time_ns - since_ns > a->last->time_ns - a->first->time_ns)
        a->first = NULL;
}

static int by_pinned(const void *a, const void *b)
{
    const struct growth_pin *x = a, *y = b;
    if (x->pinned_bytes != y->pinned_bytes)
        return x->pinned_bytes > y->pinned_bytes ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void gather_pins(struct growth_account *a, const struct places *places)
{
    const struct profile *p = places->total.profile;
    struct value *pinned = xcalloc(p->sites.count + 1, sizeof *pinned);
    for (size_t i = 0; i < a->last->pin_count; i++) {
        const struct pin *pin = &p->pins.items[a->last->first_pin + i];
        value_join(&pinned[pin->site], (struct value){(int64_t)pin->pinned, (int64_t)pin->bytes},
                   false);
    }
    struct value *sums = places_sum(places, pinned);
    uint32_t leaf; /* not wanted */
    for (uint32_t i = 0; i < places->count; i++)
        if (sums[i].amount > 0)
            *vec_push(&a->pins) = (struct growth_pin){i, places_call(places, i, pinned, &leaf),
                                                      sums[i].amount, sums[i].count};
    if (a->pins.count)
        qsort(a->pins.items, a->pins.count, sizeof *a->pins.items, by_pinned);
    free(sums);
    free(pinned);
}

void growth_account_init(struct growth_account *a, const struct places *places, uint64_t since_ns)
{
    *a = (struct growth_account){0};
    choose(a, places->total.profile, since_ns);
    if (a->last)
        gather_pins(a, places);
}

void growth_account_release(struct growth_account *a)
{
    vec_release(&a->pins);
}

int64_t growth_account_part(const struct growth_account *a, enum footprint_part part)
{
    return a->last ? (int64_t)a->last->parts[part] : 0;
}

int64_t growth_account_gain(const struct growth_account *a, enum footprint_part part)
{
    return a->first ? (int64_t)(a->last->parts[part] - a->first->parts[part])
                    : growth_account_part(a, part);
}

int64_t footprint_rest(const struct footprint *f)
{
    uint64_t known = 0; /* sums wrap around: a damaged file may contain any number */
    for (int i = 0; i < FOOTPRINT_PARTS; i++)
        known += i == PART_UNKNOWN ? 0 : f->parts[i];
    return (int64_t)(f->rss_bytes - known);
}

uint64_t footprint_unexplained(const struct footprint *f)
{
    int64_t difference = (int64_t)((uint64_t)footprint_rest(f) - f->parts[PART_UNKNOWN]);
    return f->parts[PART_UNKNOWN] +
           (uint64_t)(difference < 0 ? -(uint64_t)difference : (uint64_t)difference);
}
