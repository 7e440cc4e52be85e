/* Finds buffers that are larger than the part that is used, or that are not used at all. */
#include <stdlib.h>

#include "analyse/detect.h"

#define UNTOUCHED_BYTES (4 * MIB)
#define UNTOUCHED_SHARE 0.1 /* of the peak */
#define UNTOUCHED_HALF  0.5 /* of what the function holds */
#define UNTOUCHED_ALL   0.95

struct use {
    struct value *untouched, *held; /* by site */
    bool known;
};

/* At the end, or at the last scan. */
static void add_living(struct use *u, const struct profile *p)
{
    const struct scan *scan = NULL;
    for (size_t i = 0; i < p->scans.count; i++)
        if (p->scans.items[i].residency && (!scan || scan->kind != SCAN_EXIT))
            scan = &p->scans.items[i]; /* before destructors free everything */
    if (!scan)
        return;
    u->known = true;
    for (size_t i = scan->first_row; i < scan->first_row + scan->row_count; i++) {
        const struct live_row *r = &p->live.items[i];
        value_join(&u->untouched[r->site],
                   (struct value){(int64_t)r->untouched, (int64_t)r->blocks}, false);
        value_join(&u->held[r->site], (struct value){(int64_t)r->bytes, (int64_t)r->blocks}, false);
    }
}

/* When blocks were freed: assumes the same part of the site's highest total. */
static void add_freed(struct use *u, const struct profile *p)
{
    for (size_t i = 0; i < p->freed_readings.count; i++) {
        const struct freed_reading *l = &p->freed_readings.items[i];
        const struct site *s = &p->sites.items[l->site];
        double part = l->bytes ? (double)l->untouched / (double)l->bytes : 0;
        u->known = true;
        if (!(part > 0 && part <= 1))
            continue;
        value_join(&u->untouched[l->site],
                   (struct value){(int64_t)(part * (double)s->own_peak_bytes),
                                  (int64_t)l->untouched_blocks},
                   false);
        value_join(&u->held[l->site],
                   (struct value){(int64_t)s->own_peak_bytes, (int64_t)l->blocks}, false);
    }
}

static void keep_higher(int64_t *most, int64_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

/* The most that each place is known to have held at once: at the end of an interval, at the peak,
 * or at one of its sites alone. Its sites need not have been highest at the same time. */
static int64_t *most_held(const struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const uint32_t *of_site = f->places.of_site;
    int64_t *most = xcalloc(f->places.count + 1, sizeof *most),
            *live = xcalloc(f->places.count + 1, sizeof *live),
            *peak = xcalloc(f->places.count + 1, sizeof *peak);
    for (size_t i = 0; i < p->intervals.count; i++) {
        const struct interval *v = &p->intervals.items[i];
        const size_t end = v->first_row + v->row_count;
        for (size_t k = v->first_row; k < end; k++) {
            const struct row *r = &p->rows.items[k];
            uint32_t place = of_site[r->site];
            if (place != PLACE_NONE && domain_is_live(p->sites.items[r->site].domain))
                live[place] =
                    wrapped(live[place], (int64_t)(r->columns[COL_BYTES] - r->columns[COL_FREED]));
        }
        for (size_t k = v->first_row; k < end; k++) {
            uint32_t place = of_site[p->rows.items[k].site];
            if (place != PLACE_NONE)
                keep_higher(&most[place], live[place]);
        }
    }
    for (size_t i = 0; i < p->sites.count; i++) {
        const struct site *s = &p->sites.items[i];
        if (of_site[i] == PLACE_NONE || !domain_is_live(s->domain))
            continue;
        keep_higher(&most[of_site[i]], (int64_t)s->own_peak_bytes);
        peak[of_site[i]] = wrapped(peak[of_site[i]], (int64_t)s->at_peak_bytes);
        keep_higher(&most[of_site[i]], peak[of_site[i]]);
    }
    free(peak);
    free(live);
    return most;
}

void detect_untouched(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    struct use u = {.untouched = xcalloc(p->sites.count + 1, sizeof *u.untouched),
                    .held = xcalloc(p->sites.count + 1, sizeof *u.held)};
    add_living(&u, p);
    add_freed(&u, p);
    struct value *places = places_sum(&f->places, u.untouched);
    struct value *all = places_sum(&f->places, u.held);
    int64_t *most = most_held(f);
    f->basis.residency_known = u.known;
    for (uint32_t i = 0; i < f->places.count; i++) {
        double own = all[i].amount > 0 ? (double)places[i].amount / (double)all[i].amount : 0;
        int64_t held = all[i].amount < most[i] ? all[i].amount : most[i];
        int64_t bytes = held < all[i].amount ? (int64_t)(own * (double)held) : places[i].amount;
        double of_peak = share_of(bytes, f->basis.peak_bytes);
        f->basis.untouched_bytes = wrapped(f->basis.untouched_bytes, bytes);
        if (bytes < UNTOUCHED_BYTES || of_peak < UNTOUCHED_SHARE || own < UNTOUCHED_HALF)
            continue;
        struct finding *n =
            detect_add(f, own >= UNTOUCHED_ALL ? FINDING_UNTOUCHED : FINDING_OVERSIZED, i,
                       u.untouched, of_peak);
        n->bytes = bytes;
        n->count = places[i].count;
        n->of_bytes = held;
    }
    free(most);
    free(all);
    free(places);
    free(u.held);
    free(u.untouched);
}
