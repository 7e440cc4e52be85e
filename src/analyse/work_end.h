/*
 * work_end: when a program had done its work and began to clean up. What it frees after that says
 * nothing about its work: destructors free what was needed until the end, and CPython frees nearly
 * everything. A moment is given as the number of intervals before it.
 */
#ifndef TIDE_ANALYSE_WORK_END_H
#define TIDE_ANALYSE_WORK_END_H

#include "store/recording.h"

/* When its interpreter began to end; 0: there is none, or the program went on without it. */
size_t work_end_of_python(const struct profile *p);
/* When its interpreter, or else the program, began to end; the end of the recording if neither was
 * seen. */
size_t work_end(const struct profile *p);
/* The time of work_end; UINT64_MAX: neither was seen. */
uint64_t work_end_ns(const struct profile *p);

#endif
