/*
 * untouched: large blocks that were never written to, as far as the program saw when it freed them.
 *
 * The word of it comes just before that of the free, at the same logical time, so the block is
 * still in the table; if it is not, it was none of ours.
 */
#include <stdlib.h>

#include "collect/counting/target.h"

void untouched_note(struct target *t, uint64_t address, uint64_t bytes)
{
    struct block b, none;
    if (!blocks_take(&t->blocks, address, &b))
        return;
    blocks_put(&t->blocks, &b, &none);
    uint32_t *place = map_at(&t->look_of, b.site);
    if (*place == MAP_NONE) {
        *place = (uint32_t)t->looks.count;
        *vec_push(&t->looks) = (struct freed_look){.site = b.site};
    }
    struct freed_look *k = &t->looks.items[*place];
    k->blocks++;
    k->bytes += b.size;
    k->untouched_blocks += bytes > 0;
    k->untouched += bytes < b.size ? bytes : b.size;
}

static int by_site(const void *a, const void *b)
{
    const struct freed_look *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

void untouched_finish(struct target *t)
{
    for (size_t i = 0; i < t->looks.count; i++)
        *vec_push(&t->profile.looks) = t->looks.items[i];
    if (t->looks.count)
        qsort(t->profile.looks.items, t->looks.count, sizeof *t->looks.items, by_site);
}

void untouched_release(struct target *t)
{
    vec_release(&t->looks);
    map_release(&t->look_of);
}
