/*
 * peaks: the highest points of each thread's line, and of the process's, numbered in order of time.
 *
 * A line goes up to a peak and down again by at least `least_change` on both sides, or to the edge
 * of the window. Where one thread allocated all, its line is the process's, and not followed. Two
 * peaks of one line that are nearer than `least_time_ns` are one: the higher.
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
    uint32_t call; /* in peaks.places */
    int64_t bytes, blocks;
};

struct peak {
    unsigned number;       /* from 1 */
    uint32_t line;         /* in threads.lines, or THREADS_PROCESS */
    size_t moment, trough; /* in threads: the peak, and the lowest point before it */
    int64_t bytes;
    uint64_t time_ns;     /* of the process's highest, as all commands say it; else the moment's */
    size_t listed;        /* moment, at most one before: stacks are of its time */
    int64_t listed_bytes; /* all stacks together; not `bytes`: see peak_is_listed */
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
/* Leaves the `most` highest in the list; they keep their numbers. */
void peaks_keep_highest(struct peaks *p, size_t most);
/*
 * Do the stacks add up to the peak? Those of the process's highest moment are known, and else those
 * at ends of intervals: of a peak between two of them, those at the end that is higher.
 */
bool peak_is_listed(const struct peak *k);
const char *peak_line_name(const struct peaks *p, const struct peak *k);

#endif
