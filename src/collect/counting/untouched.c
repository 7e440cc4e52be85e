#include "collect/counting/untouched.h"

#include <stdlib.h>

#include "collect/counting/target.h"
#include "collect/counting/weights.h"

static void add(struct target *t, struct block b, uint64_t bytes)
{
    uint32_t *index = map_at(&t->untouched.look_of, b.site);
    if (*index == MAP_NONE) {
        *index = (uint32_t)t->untouched.looks.count;
        *vec_push(&t->untouched.looks) = (struct freed_look){.site = b.site};
    }
    struct freed_look *k = &t->untouched.looks.items[*index];
    bytes = bytes < b.size ? bytes : b.size;
    struct amount weight = weigh(t->profile.sample_bytes, b.address, b.size, b.usable);
    k->blocks += weight.blocks;
    k->bytes += weight.bytes;
    k->untouched_blocks += bytes > 0 ? weight.blocks : 0;
    if (t->profile.sample_bytes) /* in proportion; such a large block stands for few others */
        bytes = (uint64_t)((double)bytes / (double)b.size * (double)weight.bytes);
    k->untouched += bytes;
}

void untouched_note(struct target *t, uint64_t address, uint64_t bytes, uint64_t account,
                    uint64_t size)
{
    struct block b = {.address = address, .size = size, .usable = size};
    if (!size)
        return;
    if (accounts_site(t, (uint32_t)account, &b.site))
        add(t, b, bytes);
    else /* its thread has ended, and its last report is still to be read */
        *vec_push(&t->untouched.early) = (struct early_look){b, bytes, (uint32_t)account};
}

void untouched_settle(struct target *t)
{
    for (size_t i = 0; i < t->untouched.early.count; i++) {
        struct early_look e = t->untouched.early.items[i];
        if (accounts_site(t, e.account, &e.block.site))
            add(t, e.block, e.bytes);
    }
    t->untouched.early.count = 0;
}

static int by_site(const void *a, const void *b)
{
    const struct freed_look *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

void untouched_finish(struct target *t)
{
    for (size_t i = 0; i < t->untouched.looks.count; i++)
        *vec_push(&t->profile.looks) = t->untouched.looks.items[i];
    if (t->untouched.looks.count)
        qsort(t->profile.looks.items, t->untouched.looks.count, sizeof *t->untouched.looks.items,
              by_site);
}

void untouched_release(struct untouched *u)
{
    vec_release(&u->looks);
    vec_release(&u->early);
    map_release(&u->look_of);
}
