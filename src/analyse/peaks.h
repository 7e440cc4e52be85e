/*
 * peaks: the highest points of each thread's line, and of the process's, numbered in order of time.
 *
 * A line rises to a peak and falls again by at least `least_change` on both sides, or reaches the
 * edge of the window. If one thread allocated everything, its line is the process's, and is not
 * followed. Of two peaks of one line that are nearer than `least_time_ns`, only the higher counts.
 *
 * The options that set these limits are in cli/peak_options.h.
 *
 * Ownership: borrows recording and query; peaks_release frees the rest.
 */
#ifndef TIDE_ANALYSE_PEAKS_H
#define TIDE_ANALYSE_PEAKS_H

#include "analyse/places.h"
#include "analyse/threads.h"

#define PEAK_STACKS 3

struct peak_options {
    int64_t least_bytes;  /* lower peaks do not count */
    int64_t least_change; /* -1: a twentieth of the line's highest */
    uint64_t least_time_ns;
};

struct peak_stack {
    uint32_t call;  /* in peaks.places */
    int64_t bytes;  /* at least so many, if peak.at_least */
    int64_t blocks; /* -1: not known */
};

struct peak {
    unsigned number; /* from 1 */
    uint32_t line;   /* index into threads.lines, or THREADS_PROCESS */
    /* Indexes of moments in threads: the peak, and the lowest point before it. */
    size_t moment, trough;
    int64_t bytes;
    /* For the process's peak, the time that all commands show; otherwise the moment's. */
    uint64_t time_ns;
    size_t listed; /* the moment of the stacks: that of the peak, or the one before */
    /* The sum of all stacks then; may differ from `bytes`: see peak_is_listed. */
    int64_t listed_bytes;
    bool inside;   /* the stacks are those at the peak itself, which is inside an interval; and */
    bool at_least; /* what each of them had is known only from below */
    struct peak_stack stacks[PEAK_STACKS]; /* the largest first */
    size_t stack_count;
};

struct peaks {
    struct threads lines;
    struct places places;
    VEC(struct peak) list; /* by number */
    size_t left_out;       /* by peaks_keep_highest */
};

int peaks_init(struct peaks *p, const struct recording *r, const struct query *q,
               const struct peak_options *o, struct err *err);
void peaks_release(struct peaks *p);
/* Keeps only the `most` highest in the list, with their numbers. */
void peaks_keep_highest(struct peaks *p, size_t most);
/*
 * Do the stacks add up to the peak? They are known for the process's peak, and otherwise at ends of
 * intervals. For a peak between two ends, what each stack had at least is computed. If that is
 * little, the stacks are those at the higher end.
 */
bool peak_is_listed(const struct peak *k);
/* Is most of the peak known by stack? Otherwise its largest stack may have had nothing to do with
 * it. */
bool peak_is_explained(const struct peak *k);
const char *peak_line_name(const struct peaks *p, const struct peak *k);

#endif
