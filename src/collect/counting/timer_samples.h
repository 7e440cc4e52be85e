/*
 * timer_samples: samples of CPU time that the program's own timers took (run --cpu=timer). The
 * program writes them into shared memory (wire/layout.h); here they become counts of sites in the
 * domain of CPU time, like those of perf events. The program is not trusted: numbers that make no
 * sense are dropped.
 */
#ifndef TIDE_COLLECT_COUNTING_TIMER_SAMPLES_H
#define TIDE_COLLECT_COUNTING_TIMER_SAMPLES_H

#include "collect/counting/target.h"

/* Asks the program for samples, before it maps its memory. `signal` 0: any free one. */
void timer_samples_ask(struct target *t, uint64_t period_ns, uint32_t signal);
/* Counts the samples that exist. */
void timer_samples_drain(struct target *t, uint64_t now_ns);
/* The process is gone: what was claimed but not written never will be. Notes what did not work. */
void timer_samples_end(struct target *t, uint64_t now_ns);

#endif
