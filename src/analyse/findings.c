#include "analyse/findings.h"

#include <stdlib.h>

#include "analyse/detect.h"
#include "analyse/leak_scan.h"
#include "analyse/planted_leaks.h"

const char *finding_kind_name(const struct finding *n)
{
    static const char *const names[FINDING_KINDS] = {
        [FINDING_LEAK] = "leak",
        [FINDING_GROWTH] = "growth",
        [FINDING_PEAK] = "peak",
        [FINDING_CHURN] = "churn",
        [FINDING_OVERSIZED] = "oversized",
        [FINDING_UNTOUCHED] = "untouched",
        [FINDING_OVERHEAD] = "overhead",
        [FINDING_CHAIN] = "chain",
        [FINDING_MAPPED] = "mapped",
        [FINDING_RETAINED] = "retention",
        [FINDING_FRAGMENTED] = "fragmentation",
        [FINDING_GPU] = "gpu",
    };
    return n->kind == FINDING_MAPPED && n->mapped == MAPPED_SHARED ? "shared" : names[n->kind];
}

const struct places *finding_places(const struct findings *f, const struct finding *n)
{
    return n->kind == FINDING_MAPPED  ? &f->mapped
           : n->kind == FINDING_GPU   ? &f->gpu
           : n->domain == DOMAIN_POOL ? &f->pools
                                      : &f->places;
}

struct finding *detect_add(struct findings *f, enum finding_kind kind, uint32_t place,
                           const struct value *sites, double worth)
{
    struct finding *n = vec_push(&f->list);
    *n = (struct finding){.kind = kind, .place = place, .worth = worth};
    n->call = places_call(finding_places(f, n), place, sites, &n->leaf);
    return n;
}

static int by_worth(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Names each function once: its smaller problems mostly disappear with the largest one. */
static void keep_best(struct findings *f)
{
    size_t kept = 0;
    if (f->list.count)
        qsort(f->list.items, f->list.count, sizeof *f->list.items, by_worth);
    for (size_t i = 0; i < f->list.count && kept < FINDINGS_MAX; i++) {
        bool named = false;
        for (size_t k = 0; k < kept; k++)
            named |= f->list.items[k].place == f->list.items[i].place &&
                     finding_places(f, &f->list.items[k]) == finding_places(f, &f->list.items[i]);
        if (!named)
            f->list.items[kept++] = f->list.items[i];
    }
    f->list.count = kept;
}

/* What run --plant-leak leaked on purpose is not reported. */
static void leave_out_planted(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    uint64_t unit = planted_unit(f->places.total.recording, p);
    for (size_t i = 0; unit && i < p->sites.count; i++)
        if (f->places.of_site[i] != PLACE_NONE && planted_is_site(&p->sites.items[i], unit)) {
            f->places.of_site[i] = PLACE_NONE;
            f->planted_blocks += p->sites.items[i].own_peak_blocks;
            f->planted_bytes += p->sites.items[i].own_peak_bytes;
        }
}

/* What such stacks lost still counts as lost. */
static void count_lost_of_cut(struct findings *f, const uint8_t *ends)
{
    const struct profile *p = f->places.total.profile;
    const char *why;
    const struct scan *scan = leak_scan_judged(p, &why);
    for (size_t i = 0; scan && i < scan->row_count; i++) {
        const struct live_row *r = &p->live.items[scan->first_row + i];
        if (f->places.of_site[r->site] == PLACE_NONE ||
            ends[p->sites.items[r->site].node] != NODE_TRUNCATED ||
            (r->reach != REACH_LOST && r->reach != REACH_INDIRECT))
            continue;
        f->cut_lost_bytes = wrapped(f->cut_lost_bytes, (int64_t)r->bytes);
        f->cut_lost_blocks = wrapped(f->cut_lost_blocks, (int64_t)r->blocks);
    }
    f->basis.lost_bytes = f->cut_lost_bytes;
    f->basis.lost_blocks = f->cut_lost_blocks;
}

/* If outer frames are missing, the function that is charged may not be the one to blame. */
static void leave_out_cut(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    uint64_t cut = 0;
    for (size_t i = 0; i < p->intervals.count; i++)
        cut += p->intervals.items[i].truncated_stacks;
    uint8_t *ends = cut ? profile_stack_ends(p) : NULL;
    if (cut)
        count_lost_of_cut(f, ends);
    for (size_t i = 0; cut && i < p->sites.count; i++)
        if (f->places.of_site[i] != PLACE_NONE && ends[p->sites.items[i].node] == NODE_TRUNCATED) {
            f->places.of_site[i] = PLACE_NONE;
            f->cut_peak_bytes += p->sites.items[i].at_peak_bytes;
            f->cut_stacks++;
        }
    free(ends);
}

/* What only lost blocks lead to, and which no finding of a leak contains. */
static int64_t unclaimed(const struct findings *f)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < f->places.count; i++)
        bytes = wrapped(bytes, f->indirect[i].amount);
    for (size_t i = 0; i < f->list.count; i++)
        if (f->list.items[i].kind == FINDING_LEAK)
            bytes = wrapped_less(bytes, f->list.items[i].led_bytes);
    return bytes > 0 ? bytes : 0;
}

/* What a function lost, or what only lost blocks of another function lead to, belongs to the leak:
 * no other finding about it is needed. */
static void leave_out_lost(struct findings *f)
{
    int64_t free_to_claim = unclaimed(f);
    size_t kept = 0;
    for (size_t i = 0; i < f->list.count; i++) {
        struct finding n = f->list.items[i];
        bool grows = n.kind == FINDING_GROWTH && n.domain == DOMAIN_HEAP;
        int64_t lost = grows ? f->lost[n.place].amount : 0;
        if (lost > 0) {
            int64_t indirect = f->indirect[n.place].amount;
            int64_t own = indirect < free_to_claim ? indirect : free_to_claim;
            free_to_claim -= own;
            int64_t left = wrapped_less(n.bytes, wrapped_less(lost, own));
            if ((double)left < DETECT_LEFT * (double)n.bytes)
                continue;
            n.worth *= (double)left / (double)n.bytes;
            n.per_mark *= (double)left / (double)n.bytes;
            n.bytes = left;
        }
        f->list.items[kept++] = n;
    }
    f->list.count = kept;
}

/* Converts shares of the heap's peak to shares of the highest resident memory. */
static void weigh(struct findings *f)
{
    double scale = f->basis.rss_bytes > f->basis.peak_bytes
                       ? (double)f->basis.peak_bytes / (double)f->basis.rss_bytes
                       : 1;
    for (size_t i = 0; i < f->list.count; i++) {
        enum finding_kind kind = f->list.items[i].kind;
        bool pool = f->list.items[i].domain == DOMAIN_POOL; /* not a share of the heap */
        if (kind == FINDING_LEAK || (kind == FINDING_GROWTH && !pool) || kind == FINDING_PEAK ||
            kind == FINDING_OVERHEAD)
            f->list.items[i].worth *= scale;
    }
}

/* Nobody can change how Python itself imports. */
static void leave_out_frozen(struct findings *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->list.count; i++) {
        const struct finding *n = &f->list.items[i];
        const struct places *p = finding_places(f, n);
        const struct call_frame *frame = places_frame(p, n->call);
        if (!frame->file || !chain_is_frozen(frame_table_string(&p->total.frames, frame->file)))
            f->list.items[kept++] = *n;
    }
    f->list.count = kept;
}

/* An imported recording has the data for these only. */
static void detect_imported(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    if (!profile_lacks(p, UNKNOWN_PEAK))
        detect_peak(f);
    if (!profile_lacks(p, UNKNOWN_TEMPORARY | UNKNOWN_TIME | UNKNOWN_COUNTS))
        detect_churn(f);
    leave_out_frozen(f);
    keep_best(f);
}

int findings_init(struct findings *f, const struct recording *r, const struct query *q,
                  struct err *err)
{
    *f = (struct findings){0};
    int code = places_init(&f->places, r, q, err);
    if (code)
        return code;
    f->end = work_end_of(f->places.total.profile);
    leave_out_planted(f);
    leave_out_cut(f);
    f->basis.peak_bytes = f->places.total.profile->peak_bytes;
    detect_leaks(f);
    if (f->places.total.profile->imported.from) {
        detect_imported(f);
        return 0;
    }
    detect_growth(f);
    leave_out_lost(f);
    detect_peak(f);
    detect_churn(f);
    detect_untouched(f);
    detect_overhead(f);
    detect_chains(f);
    detect_resident(f, r, q);
    detect_gpu(f, r, q);
    leave_out_frozen(f);
    weigh(f);
    keep_best(f);
    return 0;
}

void findings_release(struct findings *f)
{
    vec_release(&f->list);
    chains_release(&f->chains);
    free(f->lost);
    free(f->indirect);
    free(f->mapped_grows);
    places_release(&f->pools);
    places_release(&f->gpu);
    if (*f->mapped_at)
        places_release(&f->mapped);
    places_release(&f->places);
}
