/*
 * Finds blocks that nothing points to any more. Whatever only a lost block leads to counts as part
 * of it, whoever allocated it: freeing the lost block would free it too.
 */
#include <stdlib.h>

#include "analyse/detect.h"
#include "analyse/leak_scan.h"

/* A single lost block is not worth anybody's time unless it is large; one per event is. */
#define LEAK_BYTES 256
/* A leak counts as repeated if it has so many blocks, and if these were allocated at different
 * times or have so many bytes. */
#define LEAK_REPEAT 10
#define LEAK_MUCH   (4 * KIB)
/* A repeated leak is reported from this share of the peak or from so many bytes on. */
#define LEAK_LEAST  0.0005
#define LEAK_ALWAYS (16 * KIB)
/* One that is not repeated must reach so many bytes and this share of the peak. */
#define LEAK_ONCE   (64 * KIB)
#define LEAK_SHARE  0.1
#define LEAK_WEIGHT 2 /* a longer run would lose more */

struct age {
    uint64_t first_ns, last_ns;
};

/* State while the rows of a scan are added up. */
struct losing {
    struct value *sites;   /* lost, with what the lost blocks lead to */
    struct value *led;     /* by place: the part of these that lost blocks lead to */
    struct age *ages;      /* by place */
    struct value indirect; /* everything indirect that passes the filter */
};

static void add_row(struct findings *f, struct losing *l, const struct live_row *r, uint32_t place)
{
    struct value v = {(int64_t)r->bytes, (int64_t)r->blocks};
    struct value led = {(int64_t)r->led_bytes, (int64_t)r->led_blocks};
    value_join(&f->lost[place], v, false);
    if (r->reach == REACH_INDIRECT) {
        value_join(&l->indirect, v, false);
        value_join(&f->indirect[place], v, false);
        return;
    }
    struct age *age = &l->ages[place];
    value_join(&l->sites[r->site], v, false);
    value_join(&l->led[place], led, false);
    if (!age->last_ns || r->first_ns < age->first_ns)
        age->first_ns = r->first_ns;
    if (r->last_ns >= age->last_ns)
        age->last_ns = r->last_ns + 1;
}

static bool is_worth_it(const struct findings *f, struct value all, int64_t direct,
                        const struct age *age)
{
    double share = share_of(all.amount, f->basis.peak_bytes);
    bool spread = age->last_ns > age->first_ns + 1;
    bool repeated = direct >= LEAK_REPEAT && (spread || all.amount >= LEAK_MUCH) &&
                    (share >= LEAK_LEAST || all.amount >= LEAK_ALWAYS);
    bool large = all.amount >= LEAK_ONCE && share >= LEAK_SHARE;
    return all.amount >= LEAK_BYTES && (repeated || large);
}

static void add_place(struct findings *f, const struct losing *l, uint32_t place,
                      struct value direct, int64_t late)
{
    struct value all = direct, led = l->led[place];
    value_join(&all, led, false);
    if (!is_worth_it(f, all, direct.count, &l->ages[place]))
        return;
    double share = share_of(all.amount, f->basis.peak_bytes);
    struct finding *n = detect_add(f, FINDING_LEAK, place, l->sites, LEAK_WEIGHT * share);
    n->bytes = all.amount;
    n->count = all.count;
    n->of_bytes = (int64_t)f->basis.peak_bytes;
    n->led_bytes = led.amount;
    n->led_count = led.count;
    n->late_bytes = late < all.amount ? late : all.amount;
    n->first_ns = l->ages[place].first_ns;
    n->last_ns = l->ages[place].last_ns;
}

/* If the filter leaves out some of what lost blocks lead to, their sums would be wrong: drops
 * them. */
static void forget_led(const struct findings *f, struct losing *l)
{
    int64_t led = 0;
    for (uint32_t i = 0; i < f->places.count; i++)
        led = wrapped(led, l->led[i].amount);
    for (uint32_t i = 0; led > l->indirect.amount && i < f->places.count; i++)
        l->led[i] = (struct value){0};
}

void detect_leaks(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const char *why;
    const struct scan *scan = leak_scan_judged(p, &why);
    f->lost = xcalloc((size_t)f->places.count + 1, sizeof *f->lost);
    f->indirect = xcalloc((size_t)f->places.count + 1, sizeof *f->indirect);
    if (!scan)
        return;
    bool doubts = leak_scan_doubts(p, scan);
    f->basis.reach_known = true;
    struct losing l = {.sites = xcalloc(p->sites.count + 1, sizeof *l.sites),
                       .led = xcalloc((size_t)f->places.count + 1, sizeof *l.led),
                       .ages = xcalloc((size_t)f->places.count + 1, sizeof *l.ages)};
    for (size_t i = scan->first_row; i < scan->first_row + scan->row_count; i++) {
        const struct live_row *r = &p->live.items[i];
        uint32_t place = f->places.of_site[r->site];
        f->basis.blocks_checked += (int64_t)r->blocks;
        if (doubts && r->reach == REACH_UNKNOWN)
            f->basis.doubted_blocks += (int64_t)r->blocks;
        if (place != PLACE_NONE && (r->reach == REACH_LOST || r->reach == REACH_INDIRECT))
            add_row(f, &l, r, place);
    }
    forget_led(f, &l);
    int64_t *late = leak_scan_lost_late(p);
    struct value *late_sites = xcalloc(p->sites.count + 1, sizeof *late_sites);
    for (size_t i = 0; i < p->sites.count; i++)
        late_sites[i].amount = late[i];
    struct value *places = places_sum(&f->places, l.sites);
    struct value *lates = places_sum(&f->places, late_sites);
    for (uint32_t i = 0; i < f->places.count; i++) {
        f->basis.lost_bytes = wrapped(f->basis.lost_bytes, f->lost[i].amount);
        f->basis.lost_blocks = wrapped(f->basis.lost_blocks, f->lost[i].count);
        f->basis.late_bytes = wrapped(f->basis.late_bytes, lates[i].amount);
        add_place(f, &l, i, places[i], lates[i].amount);
    }
    free(lates);
    free(places);
    free(late_sites);
    free(late);
    free(l.ages);
    free(l.led);
    free(l.sites);
}
