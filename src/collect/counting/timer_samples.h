/*
 * timer_samples: samples of CPU time that the program's own timers took (run --cpu=timer). The
 * program writes them into shared memory (wire/layout.h); the collector adds them to sites in the
 * domain of CPU time, like samples of perf events. The program is not trusted: numbers that make no
 * sense are dropped.
 */
#ifndef TIDE_COLLECT_COUNTING_TIMER_SAMPLES_H
#define TIDE_COLLECT_COUNTING_TIMER_SAMPLES_H

#include "collect/counting/target.h"

/* Asks the program for samples, before it maps its shared memory. `signal` 0: any free signal. */
void timer_samples_ask(struct target *t, uint64_t period_ns, uint32_t signal);
/* Counts the samples that exist. */
void timer_samples_drain(struct target *t, uint64_t now_ns);
/* Counts the last samples of a process that has ended; slots that were claimed but not written are
 * skipped. Adds notes about what did not work. */
void timer_samples_end(struct target *t, uint64_t now_ns);

#endif
