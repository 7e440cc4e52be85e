/*
 * work_end: when a program had done its work and began to clean up. What it frees after that says
 * nothing about its work: destructors free what was needed until the end, and CPython frees nearly
 * everything. A moment is given as the number of intervals before it.
 */
#ifndef TIDE_ANALYSE_WORK_END_H
#define TIDE_ANALYSE_WORK_END_H

#include "store/recording.h"

struct work_end {
    /* When its interpreter began to end; 0: there is none, or the program went on without it. */
    size_t python;
    /* When its interpreter, or else the program, began to end; the end of the recording if neither
     * was seen. */
    size_t intervals;
    uint64_t time_ns; /* of that; UINT64_MAX: neither was seen */
};

/* Takes time in proportion to the rows of all intervals. */
struct work_end work_end_of(const struct profile *p);

#endif
