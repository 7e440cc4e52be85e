/*
 * detect: what findings.c and its detectors share. Each detector looks for one kind of waste;
 * detect_X() is in detect_X.c.
 */
#ifndef TIDE_ANALYSE_DETECT_H
#define TIDE_ANALYSE_DETECT_H

#include "analyse/findings.h"

#define KIB 1024
#define MIB (1024 * 1024)

/* Adds a finding about `place`; `sites` decide which of its calls to show. */
struct finding *detect_add(struct findings *f, enum finding_kind kind, uint32_t place,
                           const struct value *sites, double worth);

/* Thresholds for growth by marks to become a finding: bytes, and the share of the peak, or of
 * resident memory. */
#define GROWN_BYTES (16 * KIB)
#define GROWN_SHARE 0.02

/* If less than this share of a place remains, the finding is dropped: what the place lost belongs
 * to another finding. */
#define DETECT_LEFT 0.1

static inline double share_of(int64_t part, uint64_t whole)
{
    return whole && part > 0 ? (double)part / (double)whole : 0;
}

void detect_leaks(struct findings *f);
void detect_growth(struct findings *f);
void detect_peak(struct findings *f);
void detect_churn(struct findings *f);
void detect_untouched(struct findings *f);
void detect_overhead(struct findings *f);
void detect_chains(struct findings *f);
void detect_resident(struct findings *f, const struct recording *r, const struct query *q);
void detect_gpu(struct findings *f, const struct recording *r, const struct query *q);

#endif
