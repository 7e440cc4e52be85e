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
    FINDING_KINDS
};

struct finding {
    enum finding_kind kind;
    double worth;
    uint32_t place, call; /* in places */
    uint32_t leaf;        /* where its stack begins: C functions that `call` called, or `call` */
    int64_t bytes, count; /* what fixing it would save */
    int64_t of_bytes;     /* and of how much: of this place's own, or of the process's peak */
    double per_mark;      /* growth: bytes each; 0: there are no marks to count by */
    const char *mark;     /* and their label */
    int64_t freed_bytes;  /* growth: of `bytes`, freed after the last mark and before the end */
    bool never_less;      /* growth: at none of the moments that were compared */
    double share;         /* churn: of the time; peak: of the run that it is that high; else 0 */
    uint64_t first_ns, last_ns; /* leak: when the first and the last were allocated */
    int64_t indirect_bytes;     /* leak: only lost blocks point to these, of whatever function */
    const struct chain *chain;  /* chain: all that is known of it, in `chains` */
};

/* What was looked at, for the sentence about a clean program. */
struct findings_basis {
    bool growth_known; /* there were moments to compare, or there is little to grow */
    bool reach_known;
    int64_t blocks_checked, lost_bytes, lost_blocks; /* with those that only lost ones point to */
    uint64_t peak_bytes;
    double temporary_share; /* of the time, all functions together */
    double overhead_share;  /* of what the allocator set aside at the peak */
    bool residency_known;
    int64_t untouched_bytes;
};

struct findings {
    struct places places;
    struct findings_basis basis;
    struct chains chains;
    uint64_t planted_bytes, planted_blocks; /* of run --plant-leak: left out */
    uint64_t cut_stacks, cut_peak_bytes;    /* stacks without their outer frames: left out; and
                                               what was live of them at the peak */
    VEC(struct finding) list;               /* the most worthwhile first */
};

const char *finding_kind_name(enum finding_kind kind);

int findings_init(struct findings *f, const struct recording *r, const struct query *q,
                  struct err *err);
void findings_release(struct findings *f);

#endif
