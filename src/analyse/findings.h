/*
 * findings: the short list that a careful person would write after an hour with the profile.
 *
 * Each detector looks at one kind of waste and keeps what passes its thresholds; a function is
 * named once, for the kind that matters most. `worth` puts them in order: the share of the peak, or
 * of the time, that fixing it would save. No finding without numbers from the recording, which it
 * carries.
 *
 * Ownership: findings_release frees everything; labels and frames point into the recording and into
 * `places`.
 */
#ifndef TIDE_ANALYSE_FINDINGS_H
#define TIDE_ANALYSE_FINDINGS_H

#include "analyse/chains.h"
#include "analyse/places.h"

#define FINDINGS_MAX 9

enum finding_kind {
    FINDING_LEAK,
    FINDING_GROWTH,
    FINDING_PEAK,
    FINDING_CHURN,
    FINDING_OVERSIZED,
    FINDING_UNTOUCHED,
    FINDING_OVERHEAD,
    FINDING_CHAIN,
    FINDING_MAPPED,     /* memory that the program itself mapped, or that Python did for objects */
    FINDING_RETAINED,   /* freed, and the allocator keeps it: whole pages, */
    FINDING_FRAGMENTED, /* or between live blocks, which keep the pages */
    FINDING_KINDS
};

/* What mapped memory is, as far as it is known. */
enum finding_mapped { MAPPED_ANY, MAPPED_ARENAS, MAPPED_SHARED };

struct finding {
    enum finding_kind kind;
    double worth;
    uint32_t place, call; /* in places */
    uint32_t leaf;        /* where its stack begins: C functions that `call` called, or `call` */
    int64_t bytes, count; /* what fixing it would save */
    int64_t of_bytes;     /* and of how much: of this place's own, or of the process's peak */
    enum domain domain;   /* growth: of the heap, or of pools */
    double per_mark;      /* growth, mapped: bytes each; 0: no growth, or no marks to count by */
    const char *mark;     /* and their label */
    int64_t freed_bytes;  /* growth: of `bytes`, freed after the last mark and before the end */
    bool never_less;      /* growth: at none of the moments that were compared */
    double share;         /* churn: of the time; peak: of the run that it is that high; else 0 */
    uint64_t first_ns, last_ns;   /* leak: when the first and the last were allocated */
    int64_t led_bytes, led_count; /* leak: of bytes and count, what only the lost blocks lead to,
                                     of whatever function */
    int64_t late_bytes; /* leak: of bytes, what something pointed to until destructors ran */
    uint64_t moment_ns; /* mapped, retained, fragmented: when the process was looked at */
    enum finding_mapped mapped;
    bool at_most;              /* mapped: how much of it is resident is not known */
    int64_t pinning_bytes;     /* fragmented: of the blocks that keep the pages */
    const struct chain *chain; /* chain: all that is known of it, in `chains` */
};

/* What was looked at, for the sentence about a clean program. */
struct findings_basis {
    bool growth_known;    /* there were moments to compare, or there is little to grow */
    uint64_t grown_bytes; /* by functions that grew, whether worth a finding or not */
    bool reach_known;
    int64_t blocks_checked, lost_bytes, lost_blocks; /* with those that only lost ones point to */
    uint64_t peak_bytes;
    double temporary_share; /* of the time, all functions together */
    double overhead_share;  /* of what the allocator set aside at the peak */
    bool residency_known;
    int64_t untouched_bytes;
    uint64_t rss_bytes, rss_ns;   /* the highest resident memory that was met; 0: not known */
    const struct footprint *look; /* what it was made of, when most was beside the heap's blocks */
    int64_t late_bytes;           /* lost only by destructors */
};

struct findings {
    struct places places;
    struct places mapped;    /* of FINDING_MAPPED: who mapped what was there at mapped_at */
    char mapped_at[32];      /* a moment as --at takes it; "": `mapped` is not there */
    struct places pools;     /* of growth in DOMAIN_POOL; empty where there is none */
    double *mapped_grows;    /* by site: mappings that become more and more: bytes for each mark, or
                                second; 0: they do not */
    const char *mapped_mark; /* the label of these marks; NULL: seconds */
    struct value *lost;      /* by place: lost and indirect; */
    struct value *hangs;     /* of these, what is indirect */
    struct findings_basis basis;
    struct chains chains;
    uint64_t planted_bytes, planted_blocks;  /* of run --plant-leak: left out */
    uint64_t cut_stacks, cut_peak_bytes;     /* stacks without their outer frames: left out; and
                                                what was live of them at the peak */
    int64_t cut_lost_bytes, cut_lost_blocks; /* of basis.lost_*: theirs */
    VEC(struct finding) list;                /* the most worthwhile first */
};

/* Sets rss_bytes and rss_ns. */
void resident_highest(const struct profile *p, struct findings_basis *b);

/* As the JSON and the texts have it. */
const char *finding_kind_name(const struct finding *n);
/* Where its place and calls are. */
const struct places *finding_places(const struct findings *f, const struct finding *n);

int findings_init(struct findings *f, const struct recording *r, const struct query *q,
                  struct err *err);
void findings_release(struct findings *f);

#endif
