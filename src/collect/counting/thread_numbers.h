/*
 * thread_numbers: a program in another pid namespace knows its threads by other numbers (tids) than
 * the collector does. These turn the program's numbers into the collector's, which are those of
 * /proc and of samples. Not safe to call from several threads.
 */
#ifndef TIDE_COLLECT_COUNTING_THREAD_NUMBERS_H
#define TIDE_COLLECT_COUNTING_THREAD_NUMBERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"

struct thread_numbers {
    pid_t pid;
    uint32_t pid_inside; /* the program's own number for its process; 0: the same, so are all */
    struct map outside;  /* a thread's number inside to the one outside */
};

void thread_numbers_begin(struct thread_numbers *n, pid_t pid, uint32_t pid_inside);
void thread_numbers_release(struct thread_numbers *n);
/* Finds the threads that run now. Call it when one has begun. */
void thread_numbers_update(struct thread_numbers *n);
/* The collector's number; the same number if it is not known. */
uint32_t thread_numbers_outside(const struct thread_numbers *n, uint32_t tid);

#endif
