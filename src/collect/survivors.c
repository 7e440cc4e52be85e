#include "collect/survivors.h"

#include <stdlib.h>

#include "collect/target.h"

/* The tick that stands for a slice is its last. The open one has none yet: the present stands for
 * it. */
static uint32_t tick_of(const struct target *t, const struct era *e)
{
    size_t end = timeline_find(&t->timeline, e->tick);
    const struct slice *last = end ? &t->timeline.slices.items[end - 1] : NULL;
    return last && last->tick >= e->tick ? last->tick : t->tick;
}

void survivors_begin(struct survivors *s, const struct target *t, enum scan_kind kind,
                     uint64_t now_ns)
{
    *s = (struct survivors){
        .events = t->events,
        .scan = {.kind = (uint32_t)kind, .time_ns = now_ns, .intervals = t->tick}};
    for (size_t i = 0; i < t->births.eras.count; i++)
        *vec_push(&s->era_ticks) = tick_of(t, &t->births.eras.items[i]);
}

void survivors_add(struct survivors *s, const struct target *t, const struct block *b,
                   enum reach reach, uint64_t untouched)
{
    uint32_t era = b->birth < s->era_ticks.count ? b->birth : 0;
    uint32_t tick = s->era_ticks.items[era];
    uint64_t time_ns = t->births.eras.items[era].start_ns;
    uint32_t *place = map_at(&s->index, (uint64_t)b->site << 32 | tick << 2 | (uint32_t)reach);
    /* Ticks that differ only in their highest bits share a key: their rows follow each other. */
    struct live_row *r = *place != MAP_NONE ? &s->rows.items[*place] : NULL;
    if (!r || r->interval != tick) {
        *place = (uint32_t)s->rows.count;
        r = vec_push(&s->rows);
        *r = (struct live_row){.site = b->site,
                               .interval = tick,
                               .reach = (uint32_t)reach,
                               .first_ns = time_ns,
                               .last_ns = time_ns};
    }
    r->blocks++;
    r->bytes += b->size;
    r->usable += b->usable;
    r->untouched += untouched;
    r->first_ns = time_ns < r->first_ns ? time_ns : r->first_ns;
    r->last_ns = time_ns > r->last_ns ? time_ns : r->last_ns;
}

struct taking {
    struct survivors *survivors;
    const struct target *target;
};

static void take(void *context, const struct block *b)
{
    const struct taking *k = context;
    survivors_add(k->survivors, k->target, b, REACH_UNKNOWN, 0);
}

void survivors_take(struct survivors *s, struct target *t, enum scan_kind kind, uint64_t now_ns)
{
    survivors_begin(s, t, kind, now_ns);
    struct taking k = {s, t};
    blocks_each(&t->blocks, take, &k);
}

static int in_order(const void *a, const void *b)
{
    const struct live_row *x = a, *y = b;
    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->interval != y->interval)
        return x->interval < y->interval ? -1 : 1;
    return (x->reach > y->reach) - (x->reach < y->reach);
}

static void join(struct live_row *into, const struct live_row *r)
{
    into->blocks += r->blocks;
    into->bytes += r->bytes;
    into->usable += r->usable;
    into->untouched += r->untouched;
    into->first_ns = r->first_ns < into->first_ns ? r->first_ns : into->first_ns;
    into->last_ns = r->last_ns > into->last_ns ? r->last_ns : into->last_ns;
}

static uint32_t interval_of(const struct target *t, uint32_t tick)
{
    size_t end = timeline_find(&t->timeline, tick);
    return end ? (uint32_t)(end - 1) : 0;
}

void survivors_finish(struct survivors *s, struct target *t)
{
    struct profile *p = &t->profile;
    for (size_t i = 0; i < s->rows.count; i++)
        s->rows.items[i].interval = interval_of(t, s->rows.items[i].interval);
    if (s->rows.count)
        qsort(s->rows.items, s->rows.count, sizeof *s->rows.items, in_order);
    s->scan.first_row = p->live.count;
    for (size_t i = 0; i < s->rows.count; i++) {
        struct live_row *last = i ? vec_last(&p->live) : NULL;
        if (last && in_order(last, &s->rows.items[i]) == 0)
            join(last, &s->rows.items[i]);
        else
            *vec_push(&p->live) = s->rows.items[i];
    }
    s->scan.row_count = p->live.count - s->scan.first_row;
    s->scan.intervals = timeline_find(&t->timeline, (uint32_t)s->scan.intervals);
    *vec_push(&p->scans) = s->scan;
    s->scan.unreachable = NULL;
}

void survivors_release(struct survivors *s)
{
    free(s->scan.unreachable);
    vec_release(&s->rows);
    map_release(&s->index);
    vec_release(&s->era_ticks);
    *s = (struct survivors){0};
}
