/*
 * findings: the short list that a careful person would write after an hour with the profile.
 *
 * Each detector examines one kind of waste and keeps what passes its thresholds. A function is
 * named once, for the kind that matters most. `worth` decides the order: the share of the peak, or
 * of the time, that a fix would save. Every finding contains its numbers from the recording.
 *
 * detect.h lists the detectors; each detect_X() is in detect_X.c. answer/findings_text.c has the
 * sentences.
 *
 * Ownership: findings_release frees everything; labels and frames point into the recording and into
 * `places`.
 */
#ifndef TIDE_ANALYSE_FINDINGS_H
#define TIDE_ANALYSE_FINDINGS_H

#include "analyse/realloc_chains.h"
#include "analyse/places.h"
#include "analyse/work_end.h"

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
    FINDING_MAPPED,   /* memory that the program mapped itself, or that Python mapped for objects */
    FINDING_RETAINED, /* freed memory that the allocator keeps: whole pages, */
    FINDING_FRAGMENTED, /* or space between live blocks, which keep the pages */
    FINDING_GPU,        /* who holds most memory of graphics processors at its peak */
    FINDING_KINDS
};

/* What is known about mapped memory. */
enum finding_mapped { MAPPED_ANY, MAPPED_ARENAS, MAPPED_SHARED };

struct finding {
    enum finding_kind kind;
    double worth;
    uint32_t place, call; /* in places */
    uint32_t leaf; /* the innermost call of its stack: a C function that `call` called, or `call` */
    int64_t bytes, count; /* what a fix would save */
    int64_t of_bytes;     /* out of how much: of this place, or the process's peak */
    enum domain domain;   /* growth: in the heap, or in pools */
    double per_mark;      /* growth, mapped: bytes per mark; 0: no growth, or no marks */
    const char *mark;     /* the label of these marks */
    /* Growth: the part of `bytes` that was freed after the last mark, before the end. */
    int64_t freed_bytes;
    bool never_less; /* growth: it did not shrink between any of the moments */
    double share;    /* churn: of the time; peak: of the run at that height; otherwise 0 */
    uint64_t first_ns, last_ns; /* leak: when the first and the last block were allocated */
    /* Leak: the part of bytes and count that only the lost blocks lead to, of whatever function. */
    int64_t led_bytes, led_count;
    /* Leak: the part of bytes that something pointed to until destructors ran. */
    int64_t late_bytes;
    uint64_t moment_ns; /* mapped, retained, fragmented: the time of the footprint */
    enum finding_mapped mapped;
    bool at_most;              /* mapped: an upper bound; how much of it is resident is not known */
    int64_t kept_bytes;        /* fragmented: all free memory that the allocator keeps */
    int64_t pinning_bytes;     /* fragmented: bytes of the blocks that keep the pages */
    const struct chain *chain; /* chain: all its figures, in `chains` */
};

/* What was examined, for the sentence about a program without findings. */
struct findings_basis {
    bool growth_known; /* there were moments to compare, or the heap is too small to matter */
    /* What all functions that grew have gained, also where that is too little for a finding. */
    uint64_t grown_bytes;
    bool reach_known;
    /* Lost: including what only lost blocks lead to. */
    int64_t blocks_checked, lost_bytes, lost_blocks;
    int64_t doubted_blocks; /* of those that were checked; see leak_scan_doubts */
    uint64_t peak_bytes;
    double temporary_share; /* of the time, over all functions */
    double overhead_share;  /* of what the allocator reserved at the peak */
    bool residency_known;
    int64_t untouched_bytes;
    uint64_t rss_bytes; /* the highest resident memory that was seen; 0: not known */
    const struct footprint
        *footprint;     /* the footprint with the most memory besides the heap's blocks */
    int64_t late_bytes; /* lost only when destructors ran */
};

struct findings {
    struct places places;
    struct places mapped; /* for FINDING_MAPPED: who mapped what existed at mapped_at */
    char mapped_at[32];   /* a moment in the form of --at; "": `mapped` is not set */
    struct places pools;  /* for growth in DOMAIN_POOL; otherwise empty */
    struct places gpu;    /* for FINDING_GPU; otherwise empty */
    /* For each site: how many bytes its mappings grow per mark, or per second; 0: they do not
     * grow. */
    double *mapped_grows;
    const char *mapped_mark; /* the label of these marks; NULL: per second */
    struct value *lost;      /* by place: lost and indirect */
    struct value *indirect;  /* by place: the indirect part */
    struct findings_basis basis;
    struct work_end end;
    struct chains chains;
    uint64_t planted_bytes, planted_blocks; /* what run --plant-leak leaked: left out */
    /* Stacks without their outer frames, which are left out, and their live bytes at the peak. */
    uint64_t cut_stacks, cut_peak_bytes;
    int64_t cut_lost_bytes, cut_lost_blocks; /* the part of basis.lost_* with such stacks */
    VEC(struct finding) list;                /* the most worthwhile first */
};

/* Sets rss_bytes. */
void resident_highest(const struct profile *p, struct findings_basis *b);

/* The name in JSON and in text. */
const char *finding_kind_name(const struct finding *n);
/* The places to which its indexes refer. */
const struct places *finding_places(const struct findings *f, const struct finding *n);

/* The metric of FINDING_GPU: of tensors, if they account for most of the memory, because the
 * framework's allocator keeps what they give back. */
enum metric finding_gpu_metric(const struct findings *f);

int findings_init(struct findings *f, const struct recording *r, const struct query *q,
                  struct err *err);
void findings_release(struct findings *f);

#endif
