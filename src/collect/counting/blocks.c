#include "collect/counting/blocks.h"

#include <stdlib.h>

#include "base/err.h"

#define PLACES_FIRST 64

static size_t home_of(const struct blocks *t, uint64_t key)
{
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (t->size - 1);
}

/* The entry of a key, or where it would be. */
static struct block *place_of(const struct blocks *t, uint64_t key)
{
    size_t at = home_of(t, key);
    while (t->places[at].address && t->places[at].address != key)
        at = (at + 1) & (t->size - 1);
    return &t->places[at];
}

static void grow(struct blocks *t)
{
    struct blocks old = *t;
    t->size = old.size ? old.size * 2 : PLACES_FIRST;
    t->places = xcalloc(t->size, sizeof *t->places);
    for (size_t i = 0; i < old.size; i++)
        if (old.places[i].address)
            *place_of(t, old.places[i].address) = old.places[i];
    free(old.places);
}

bool blocks_put(struct blocks *t, const struct block *b, struct block *old)
{
    if (t->count >= t->size / 8 * 7)
        grow(t);
    struct block *place = place_of(t, b->address + 1);
    bool replaces = place->address != 0;
    if (replaces) {
        *old = *place;
        old->address--;
    }
    t->count += !replaces;
    *place = *b;
    place->address++;
    return replaces;
}

/* Moves up the entries that follow without a gap, unless they would come before their home. */
static void close_gap(struct blocks *t, size_t gap)
{
    const size_t mask = t->size - 1;
    for (size_t at = (gap + 1) & mask; t->places[at].address; at = (at + 1) & mask)
        if (((at - home_of(t, t->places[at].address)) & mask) >= ((at - gap) & mask)) {
            t->places[gap] = t->places[at];
            gap = at;
        }
    t->places[gap].address = 0;
}

bool blocks_take(struct blocks *t, uint64_t address, struct block *out)
{
    struct block *place = t->size ? place_of(t, address + 1) : NULL;
    if (!place || !place->address)
        return false;
    *out = *place;
    out->address--;
    close_gap(t, (size_t)(place - t->places));
    t->count--;
    return true;
}

void blocks_release(struct blocks *t)
{
    free(t->places);
    *t = (struct blocks){0};
}
