/*
 * maps: what a process has mapped, from /proc/PID/smaps and numa_maps, at moments.
 *
 * Soon after the start (but a process that is over by then costs nothing), now and then, at each
 * snapshot, and when the program begins to end. Reading takes the longer the more is resident, so
 * that captures now and then take at most 1 % of the time. There are at most CAPTURES_ROOM mappings
 * in all: when there are more, every second capture goes.
 *
 * The recorder's own mappings are marked, and so are those with live heap blocks or a thread's
 * stack in them. A process that may not be looked at has no captures.
 */
#ifndef TIDE_COLLECT_RESIDENT_MAPS_H
#define TIDE_COLLECT_RESIDENT_MAPS_H

#include "collect/counting/target.h"

#define CAPTURES_ROOM (1u << 16)

/* After target_drain. */
void maps_take(struct target *t, enum capture_kind kind, uint64_t now_ns);
void maps_if_due(struct target *t, uint64_t now_ns);
/* Have the mappings been listed since the program began to end? */
bool maps_has_exit(const struct target *t);
/* The program begins to end, or is at its end; only the first time counts. */
void maps_at_exit(struct target *t, uint64_t now_ns);

/* Every second capture goes, but for the first and the last: those taken now and then, or if there
 * are none, all. False: there are too few. */
bool maps_thin_out(struct profile *p);

/* An estimate of what a look at them costs, in processor time. */
uint64_t maps_cost_ns(const struct target *t);

#endif
