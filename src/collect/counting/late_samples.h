/*
 * late_samples: counts a sample in the interval in which it was taken.
 *
 * The collector reads the kernel's samples one pass later than what the program counts itself, and
 * a mark ends its interval as soon as it is read. A sample that was taken before the mark would
 * then count as if it came after it. The samples of the program's own timers are read before the
 * marks of the same pass, so they would count too early. Both are kept in a list, and added to the
 * rows of their interval when the pass has ended the intervals. Of the kernel's samples only those
 * before a mark are: other intervals are a scale for the time, and a sample may be one pass too
 * late there.
 *
 * Threads: the collector's. No errors.
 */
#ifndef TIDE_COLLECT_COUNTING_LATE_SAMPLES_H
#define TIDE_COLLECT_COUNTING_LATE_SAMPLES_H

#include "collect/counting/ledger.h"

struct target;

struct late_sample {
    uint32_t tick; /* of its interval */
    uint32_t account;
    uint64_t count, amount;
    enum column kind;
};

/* Adds `count` samples with the sum `amount`, as ledger_sample does, at a time of the monotonic
 * clock. */
void target_sample(struct target *t, uint32_t account, uint64_t count, uint64_t amount,
                   enum column kind, uint64_t monotonic_ns);
/* The same for a sample of the program's own timers, with the tick at which it was taken. */
void target_sample_at(struct target *t, uint32_t account, uint64_t count, uint64_t amount,
                      uint32_t tick);
/* Adds the samples that came late to their intervals. Call it before intervals are read. */
void target_add_late_samples(struct target *t);

#endif
