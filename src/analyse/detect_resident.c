/*
 * Finds resident memory other than the heap's live blocks, and who mapped it or keeps it.
 *
 * The parts of resident memory were counted at some moments (struct footprint). The moment with the
 * most memory besides live blocks is used. No byte is claimed twice: mappings are divided among
 * those who mapped them, up to what is resident of all mappings; what the allocator keeps is one
 * part.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/detect.h"
#include "analyse/fragmentation.h"
#include "model/mapped_by.h"

#define MAPPED_BYTES  (16 * MIB) /* less does not matter */
#define MAPPED_SHARE  0.25       /* of resident memory */
#define MAPPED_WEIGHT 0.6        /* the memory may well be needed */
/* If mappings are at most so many times what is resident of them, all of them count as resident. */
#define MAPPED_SLACK 1.1
#define KEPT_BYTES   (4 * MIB)
#define KEPT_SHARE   0.25 /* of anonymous memory */
/* The last moment is used if it reaches this share of the highest. */
#define RECENT_SHARE 0.9
/* If no moment reaches this share of resident memory, the one with the highest RSS is used. */
#define BESIDE_SHARE   0.1
#define ARENAS_OF_PART 0.5

/* --- choosing a moment ------------------------------------------------------------------------ */

static uint64_t mappings_of(const struct footprint *l)
{
    return l->parts[PART_MAPPED] + l->parts[PART_SHARED] + l->parts[PART_FILES];
}

/* Python frees its memory when it ends. */
static bool is_after_python(const struct findings *f, const struct footprint *l)
{
    return f->end.python && l->time_ns > f->end.time_ns;
}

/* What is freed in this last share of the run does not matter. */
#define KEPT_TIME 0.1

/* Did the blocks that used this memory end some time before the run's end? Memory that is used
 * again and again, or freed just before the end, does not matter. `freed` bytes were live at the
 * peak and are not in this footprint: the heap counts as high while it has more than half of
 * these. */
static bool was_kept(const struct findings *f, const struct footprint *l)
{
    const struct profile *p = f->places.total.profile;
    uint64_t end = f->end.time_ns < p->duration_ns ? f->end.time_ns : p->duration_ns, high = 0;
    uint64_t freed = p->peak_bytes > l->live_bytes ? p->peak_bytes - l->live_bytes : 0;
    for (size_t i = 0; i < p->intervals.count; i++)
        if (p->intervals.items[i].peak_bytes + freed / 2 > p->peak_bytes)
            high = p->intervals.items[i].end_ns;
    return freed && high < l->time_ns && high < end &&
           (double)(end - high) >= KEPT_TIME * (double)end;
}

/* The memory that is used again is at most what blocks had at the peak beyond those that are live.
 * Everything above that is kept in any case, in the arenas of threads for instance. */
static uint64_t kept_free(const struct findings *f, const struct footprint *l)
{
    const struct profile *p = f->places.total.profile;
    double used = 0, rounding = f->basis.overhead_share;
    if (!was_kept(f, l) && p->peak_bytes > l->live_bytes && rounding < 1)
        used = (double)(p->peak_bytes - l->live_bytes) / (1 - rounding);
    return (double)l->parts[PART_FREE] > used ? l->parts[PART_FREE] - (uint64_t)used : 0;
}

/* What a program allocates or frees while a footprint is taken counts as free. Then only what was
 * also free in the footprints before and after is believed. Nothing is known from before the first
 * footprint. */
static uint64_t kept_at(const struct findings *f, const struct footprint *l)
{
    const struct profile *p = f->places.total.profile;
    uint64_t kept = l->parts[PART_HELD] + kept_free(f, l);
    if (l->partial || kept < KEPT_BYTES || is_after_python(f, l))
        return 0;
    if (l->exact)
        return kept;
    const struct footprint *first = p->footprints.items, *last = first + p->footprints.count;
    if (l == first)
        return 0;
    for (const struct footprint *other = l - 1; other <= l + 1 && other < last; other += 2) {
        uint64_t then = other->parts[PART_FREE] + other->parts[PART_HELD];
        kept = then < kept ? then : kept;
    }
    return kept;
}

static const struct footprint *choose(const struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const struct footprint *best = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < p->footprints.count; i++) {
        const struct footprint *l = &p->footprints.items[i];
        uint64_t beside = mappings_of(l) + kept_at(f, l);
        if ((double)beside < BESIDE_SHARE * (double)l->rss_bytes)
            beside = 0;
        if (best && is_after_python(f, l))
            break;
        if (best && (double)beside < RECENT_SHARE * (double)most)
            continue;
        if (best && !most && !beside && l->rss_bytes < best->rss_bytes)
            continue;
        most = beside > most ? beside : most;
        best = l;
    }
    return best;
}

void resident_highest(const struct profile *p, struct findings_basis *b)
{
    b->rss_bytes = 0;
    for (size_t i = 0; i < p->stamps.count + p->marks.count; i++) {
        const struct stamp *s =
            i < p->stamps.count ? &p->stamps.items[i] : &p->marks.items[i - p->stamps.count].stamp;
        if (s->rss_bytes > b->rss_bytes)
            b->rss_bytes = s->rss_bytes;
    }
    for (size_t i = 0; i < p->footprints.count; i++)
        if (p->footprints.items[i].rss_bytes > b->rss_bytes)
            b->rss_bytes = p->footprints.items[i].rss_bytes;
}

static struct finding *add(struct findings *f, enum finding_kind kind, uint32_t place,
                           const struct value *sites, int64_t bytes)
{
    struct finding *n =
        detect_add(f, kind, place, sites, MAPPED_WEIGHT * share_of(bytes, f->basis.rss_bytes));
    n->bytes = bytes;
    n->of_bytes = (int64_t)f->basis.footprint->rss_bytes;
    n->moment_ns = f->basis.footprint->time_ns;
    return n;
}

/* --- mappings --------------------------------------------------------------------------------- */

static bool is_mostly_arenas(const struct findings *f, uint32_t place)
{
    const struct profile *p = f->mapped.total.profile;
    const struct value *sites = f->mapped.total.measure.sites;
    int64_t arenas = 0, all = 0;
    for (size_t i = 0; i < p->sites.count; i++) {
        if (f->mapped.of_site[i] != place)
            continue;
        all = wrapped(all, sites[i].amount);
        if (mapped_by_python(p, &p->sites.items[i]))
            arenas = wrapped(arenas, sites[i].amount);
    }
    return p->arenas.count && (double)arenas > ARENAS_OF_PART * (double)all;
}

static int by_amount(const void *a, const void *b, void *sums)
{
    const struct value *of = sums;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (of[x].amount != of[y].amount)
        return of[x].amount > of[y].amount ? -1 : 1;
    return (x > y) - (x < y);
}

/* The moment at which most of the mapped memory was resident. Footprints are rare. If a stamp shows
 * more anonymous memory beyond live blocks, its moment is used. */
struct mapped_moment {
    uint64_t time_ns, rss_bytes, bytes;
    uint64_t most_bytes; /* of one kind: a single mapping is anonymous, shared or of a file */
    bool shared;
};

static uint64_t most_of_one_kind(const struct footprint *l)
{
    uint64_t most = l->parts[PART_MAPPED];
    most = l->parts[PART_SHARED] > most ? l->parts[PART_SHARED] : most;
    return l->parts[PART_FILES] > most ? l->parts[PART_FILES] : most;
}

static struct mapped_moment find_mapped_moment(const struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    const struct footprint *l = f->basis.footprint;
    struct mapped_moment best = {l->time_ns, l->rss_bytes, mappings_of(l), most_of_one_kind(l),
                                 l->parts[PART_SHARED] >= mappings_of(l) / 2};
    uint64_t kept = l->parts[PART_FREE] + l->parts[PART_HELD];
    for (size_t i = 0; i < p->stamps.count; i++) {
        const struct stamp *s = &p->stamps.items[i];
        if (s->anon_bytes <= s->live_bytes + kept ||
            s->anon_bytes - s->live_bytes - kept <= best.bytes + best.bytes / 4)
            continue;
        uint64_t bytes = s->anon_bytes - s->live_bytes - kept;
        best = (struct mapped_moment){s->time_ns, s->rss_bytes, bytes, bytes, false};
    }
    return best;
}

/* How many bytes the mappings of a place grow per mark, or per second; 0: they do not grow. */
static double grows_by(const struct findings *f, uint32_t place)
{
    double most = 0;
    for (size_t i = 0; f->mapped_grows && i < f->places.total.profile->sites.count; i++)
        if (f->mapped.of_site[i] == place && f->mapped_grows[i] > most)
            most = f->mapped_grows[i];
    return most;
}

/* What pools have reported. */
static int64_t in_pools(const struct findings *f)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].domain == DOMAIN_POOL)
            bytes = wrapped(bytes, f->list.items[i].bytes);
    return bytes;
}

static bool is_much(int64_t bytes, const struct mapped_moment *l, bool grows)
{
    return bytes >= (grows ? GROWN_BYTES : MAPPED_BYTES) &&
           (double)bytes >= (grows ? GROWN_SHARE : MAPPED_SHARE) * (double)l->rss_bytes;
}

static void share_out(struct findings *f, const struct mapped_moment *l, struct value *sums)
{
    int64_t left = wrapped_less((int64_t)l->bytes, in_pools(f)), all = 0;
    uint32_t *order = xcalloc((size_t)f->mapped.count + 1, sizeof *order);
    for (uint32_t i = 0; i < f->mapped.count; i++) {
        order[i] = i;
        all = wrapped(all, sums[i].amount);
    }
    qsort_r(order, f->mapped.count, sizeof *order, by_amount, sums);
    bool at_most = (double)all > MAPPED_SLACK * (double)left;
    for (uint32_t k = 0; k < f->mapped.count; k++) {
        uint32_t i = order[k];
        int64_t bytes = sums[i].amount < left ? sums[i].amount : left;
        if (sums[i].count == 1 && bytes > (int64_t)l->most_bytes)
            bytes = (int64_t)l->most_bytes;
        double slope = grows_by(f, i);
        if (!is_much(bytes, l, slope > 0))
            continue;
        struct finding *n = add(f, FINDING_MAPPED, i, f->mapped.total.measure.sites, bytes);
        n->count = sums[i].count;
        n->at_most = at_most;
        n->mark = f->mapped_mark;
        n->per_mark = f->mapped_mark ? slope : 0;
        n->mapped = is_mostly_arenas(f, i) ? MAPPED_ARENAS : l->shared ? MAPPED_SHARED : MAPPED_ANY;
        n->of_bytes = (int64_t)l->rss_bytes;
        n->moment_ns = l->time_ns;
        left -= bytes;
    }
    free(order);
}

static void add_mapped(struct findings *f, const struct recording *r, const struct query *q)
{
    struct mapped_moment l = find_mapped_moment(f);
    if (!is_much((int64_t)l.bytes, &l, f->mapped_grows))
        return;
    snprintf(f->mapped_at, sizeof f->mapped_at, "%.6fs", (double)l.time_ns / 1e9);
    struct query then = *q;
    then.at = f->mapped_at;
    if (places_init_live(&f->mapped, r, &then, METRIC_MAPPED, NULL)) {
        *f->mapped_at = '\0';
        return;
    }
    struct value *sums = places_sum(&f->mapped, f->mapped.total.measure.sites);
    share_out(f, &l, sums);
    free(sums);
}

/* --- memory that the allocator keeps ---------------------------------------------------------- */

/* What a peak leaves behind is resident for longer than the peak itself, so only that is
 * reported. */
static void leave_out_peak(struct findings *f, uint32_t place)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].kind != FINDING_PEAK || f->list.items[i].place != place)
            f->list.items[kept++] = f->list.items[i];
    f->list.count = kept;
}

/* Adds a finding that names the function which had most of the memory that is free now: for each
 * function, the bytes that were live at the peak and no longer were at the footprint. */
static void add_retained(struct findings *f, int64_t bytes)
{
    const struct profile *p = f->places.total.profile;
    struct window peak = {.at = {.peak = true, .intervals = p->intervals.count}}, then = {0};
    struct measure had, has;
    while (then.at.intervals < p->intervals.count &&
           p->intervals.items[then.at.intervals].end_ns <= f->basis.footprint->time_ns)
        then.at.intervals++;
    measure_sites(&had, p, METRIC_PEAK, SIZE_REQUESTED, &peak);
    measure_sites(&has, p, METRIC_LIVE, SIZE_REQUESTED, &then);
    uint32_t best = PLACE_NONE;
    for (size_t i = 0; i < had.count; i++)
        had.sites[i].amount = wrapped_less(had.sites[i].amount, has.sites[i].amount);
    struct value *freed = places_sum(&f->places, had.sites);
    for (uint32_t i = 0; i < f->places.count; i++)
        if (freed[i].amount > 0 && (best == PLACE_NONE || freed[i].amount > freed[best].amount))
            best = i;
    if (best != PLACE_NONE) {
        leave_out_peak(f, best);
        struct finding *n = add(f, FINDING_RETAINED, best, had.sites, bytes);
        n->freed_bytes = freed[best].amount;
        n->count = (int64_t)f->basis.footprint->trim_bytes;
    }
    free(freed);
    measure_release(&has);
    measure_release(&had);
}

/* Adds a finding that names the function whose blocks keep most of `kept` bytes. */
static void add_fragmented(struct findings *f, const struct growth_account *account, int64_t kept)
{
    const struct profile *p = f->places.total.profile;
    const struct growth_pin *pin = account->pins.items;
    struct value *sites = xcalloc(p->sites.count + 1, sizeof *sites);
    for (size_t i = 0; i < account->last->pin_count; i++) {
        const struct pin *each = &p->pins.items[account->last->first_pin + i];
        sites[each->site].amount = (int64_t)each->pinned;
    }
    struct finding *n = add(f, FINDING_FRAGMENTED, pin->place, sites, pin->pinned_bytes);
    n->kept_bytes = kept;
    n->pinning_bytes = pin->bytes;
    free(sites);
}

static void add_kept(struct findings *f)
{
    static const enum footprint_part anonymous[] = {PART_LIVE,   PART_ROUNDING, PART_HELD,
                                                    PART_FREE,   PART_MAPPED,   PART_ARENAS,
                                                    PART_STACKS, PART_DATA,     PART_UNKNOWN};
    const struct footprint *l = f->basis.footprint;
    uint64_t kept = kept_at(f, l), all = 0;
    for (size_t i = 0; i < sizeof anonymous / sizeof *anonymous; i++)
        all += l->parts[anonymous[i]];
    if (kept < KEPT_BYTES || (double)kept < KEPT_SHARE * (double)all)
        return;
    struct growth_account account;
    growth_account_init(&account, &f->places, 0);
    bool fragmented =
        account.last == l && is_fragmentation(&account, (double)l->parts[PART_HELD], (double)kept);
    if (fragmented)
        add_fragmented(f, &account, (int64_t)kept);
    else
        add_retained(f, (int64_t)kept);
    growth_account_release(&account);
}

void detect_resident(struct findings *f, const struct recording *r, const struct query *q)
{
    const struct profile *p = f->places.total.profile;
    resident_highest(p, &f->basis);
    f->basis.footprint = p->together ? NULL : choose(f);
    if (!f->basis.footprint)
        return;
    add_mapped(f, r, q);
    add_kept(f);
}
