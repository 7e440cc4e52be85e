/*
 * heap_peak: when the heap of a process was largest, and what each site had then.
 *
 * The program notes a peak in its totals when its heap shrinks for the first time after it, and
 * saves the values of an account before the account's first change after a peak
 * (record/heap_peak.h). The collector reads the totals together with the rings, and notes the time
 * when it sees a new peak there (heap_peak_watch). When everything has been counted, it computes
 * from the saved values what each site had at the last peak (heap_peak_settle). If the program does
 * not count its heap itself, ledger.h finds the peak. Not thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_HEAP_PEAK_H
#define TIDE_COLLECT_COUNTING_HEAP_PEAK_H

#include <stdint.h>

struct profile;
struct target;

/* Notes the time of the peak, if the program's total is higher than at the last call. */
void heap_peak_watch(struct target *t, uint64_t now_ns);
/* Passes the highest total of an interval to the ledger, before the interval ends. */
void heap_peak_end_interval(struct target *t, uint32_t tick);
/* Passes the highest total so far of the open interval to the ledger. */
void heap_peak_raise(struct target *t);
/* The highest total of the open interval counts from now on only. */
void heap_peak_restart(struct target *t);
/* Computes, before target_finish, what each site had at the peak, and the sizes and lifetimes of
 * its blocks. The peak is never less than what is live now. */
void heap_peak_settle(struct target *t, uint64_t now_ns);
/* The program notes its peak from totals that its threads report in portions, so with several
 * threads it may be too low; the ends of intervals are exact. If one of them is higher than the
 * noted peak, it becomes the peak. After the last interval was closed. */
void heap_peak_settle_ends(struct target *t);
/* Moves the time of the peak into the interval in which it was. The collector notices a peak at its
 * next pass, when that interval may be over; or the peak comes after the beginning of the pass,
 * whose time it gets. */
void heap_peak_settle_time(struct profile *p);

#endif
