#include "collect/counting/untouched.h"

#include <stdlib.h>

#include "collect/counting/target.h"
#include "collect/counting/weights.h"

static void add(struct target *t, struct block b, uint64_t bytes)
{
    uint32_t *index = map_at(&t->untouched.reading_of, b.site);
    if (*index == MAP_NONE) {
        *index = (uint32_t)t->untouched.freed_readings.count;
        *vec_push(&t->untouched.freed_readings) = (struct freed_reading){.site = b.site};
    }
    struct freed_reading *k = &t->untouched.freed_readings.items[*index];
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
        *vec_push(&t->untouched.early) = (struct early_reading){b, bytes, (uint32_t)account};
}

void untouched_settle(struct target *t)
{
    for (size_t i = 0; i < t->untouched.early.count; i++) {
        struct early_reading e = t->untouched.early.items[i];
        if (accounts_site(t, e.account, &e.block.site))
            add(t, e.block, e.bytes);
    }
    t->untouched.early.count = 0;
}

static int by_site(const void *a, const void *b)
{
    const struct freed_reading *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

void untouched_finish(struct target *t)
{
    for (size_t i = 0; i < t->untouched.freed_readings.count; i++)
        *vec_push(&t->profile.freed_readings) = t->untouched.freed_readings.items[i];
    if (t->untouched.freed_readings.count)
        qsort(t->profile.freed_readings.items, t->untouched.freed_readings.count,
              sizeof *t->untouched.freed_readings.items, by_site);
}

void untouched_release(struct untouched *u)
{
    vec_release(&u->freed_readings);
    vec_release(&u->early);
    map_release(&u->reading_of);
}
