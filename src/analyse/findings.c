#include "analyse/findings.h"

#include <stdlib.h>

#include "analyse/detect.h"
#include "analyse/planted.h"

const char *finding_kind_name(enum finding_kind kind)
{
    static const char *const names[FINDING_KINDS] = {
        [FINDING_LEAK] = "leak",           [FINDING_GROWTH] = "growth",
        [FINDING_PEAK] = "peak",           [FINDING_CHURN] = "churn",
        [FINDING_OVERSIZED] = "oversized", [FINDING_UNTOUCHED] = "untouched",
        [FINDING_OVERHEAD] = "overhead",   [FINDING_CHAIN] = "chain",
    };
    return names[kind];
}

struct finding *detect_add(struct findings *f, enum finding_kind kind, uint32_t place,
                           const struct value *sites, double worth)
{
    struct finding *n = vec_push(&f->list);
    *n = (struct finding){.kind = kind, .place = place, .worth = worth};
    n->call = places_call(&f->places, place, sites, &n->leaf);
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

/* A function is named once: its lesser troubles mostly go with the greatest. */
static void keep_best(struct findings *f)
{
    size_t kept = 0;
    if (f->list.count)
        qsort(f->list.items, f->list.count, sizeof *f->list.items, by_worth);
    for (size_t i = 0; i < f->list.count && kept < FINDINGS_MAX; i++) {
        bool named = false;
        for (size_t k = 0; k < kept; k++)
            named |= f->list.items[k].place == f->list.items[i].place;
        if (!named)
            f->list.items[kept++] = f->list.items[i];
    }
    f->list.count = kept;
}

/* Nobody shall mend what run --plant-leak did. */
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

/* Where frames are missing, the function that is charged may not be the one to blame. */
static void leave_out_cut(struct findings *f)
{
    const struct profile *p = f->places.total.profile;
    uint64_t cut = 0;
    for (size_t i = 0; i < p->intervals.count; i++)
        cut += p->intervals.items[i].truncated_stacks;
    uint8_t *ends = cut ? profile_stack_ends(p) : NULL;
    for (size_t i = 0; cut && i < p->sites.count; i++)
        if (f->places.of_site[i] != PLACE_NONE && ends[p->sites.items[i].node] == NODE_TRUNCATED) {
            f->places.of_site[i] = PLACE_NONE;
            f->cut_peak_bytes += p->sites.items[i].at_peak_bytes;
            f->cut_stacks++;
        }
    free(ends);
}

int findings_init(struct findings *f, const struct recording *r, const struct query *q,
                  struct err *err)
{
    *f = (struct findings){0};
    int code = places_init(&f->places, r, q, err);
    if (code)
        return code;
    leave_out_planted(f);
    leave_out_cut(f);
    f->basis.peak_bytes = f->places.total.profile->peak_bytes;
    detect_leaks(f);
    detect_growth(f);
    detect_peak(f);
    detect_churn(f);
    detect_untouched(f);
    detect_overhead(f);
    detect_chains(f);
    keep_best(f);
    return 0;
}

void findings_release(struct findings *f)
{
    vec_release(&f->list);
    chains_release(&f->chains);
    places_release(&f->places);
}
