/*
 * sample_sums: sums of CPU samples and page faults in a window, and how complete they are.
 */
#ifndef TIDE_MODEL_SAMPLE_SUMS_H
#define TIDE_MODEL_SAMPLE_SUMS_H

#include "model/moment.h"
#include "model/query.h"
#include "store/recording.h"

struct sampled_totals {
    uint64_t cpu_ns, cpu_samples;
    uint64_t kernel_ns, kernel_samples;   /* the part in the kernel */
    uint64_t waiting_ns, waits, ready_ns; /* off the processor */
    uint64_t faults, fault_bytes;
    /* Kinds of faults; all others are first touches. */
    uint64_t huge_faults, file_faults, copy_faults;
    uint64_t touched, touched_bytes; /* the part in memory whose allocation is known */
    /* Samples of the metric whose stack was cut off, or ends where unwind information is
     * missing. */
    uint64_t truncated_stacks, incomplete_stacks;
};

static inline bool metric_is_sampled(enum metric m)
{
    return metric_is_time(m) || m == METRIC_FAULTS || m == METRIC_TOUCHED || m == METRIC_SAMPLES;
}

/* Sums up the samples of a window. truncated_stacks and incomplete_stacks are those of `metric`, if
 * it is sampled. */
struct sampled_totals sampled_totals(const struct profile *p, const struct window *w,
                                     enum metric metric);

/* CPU time from the end of the previous part (at first: the start of the window) to end_ns. */
struct sampled_part {
    uint64_t end_ns, cpu_ns;
};

/* CPU time over a window, in at most `most` parts of about equal length that end with intervals.
 * The caller frees them. */
struct sampled_part *sampled_over_time(const struct profile *p, const struct window *w, size_t most,
                                       size_t *count);

/* The sums for the whole run and all stacks. */
struct sampled_totals sampled_whole(const struct profile *p);

/* Returns 0; or -ENODATA and a sentence: only samples were recorded, the heap was not. */
int sampled_heap_check(const struct profile *p, struct err *err);

/* The default metric: live, or if the heap was not recorded, what was sampled. */
enum metric sampled_default(const struct recording *r);

#endif
