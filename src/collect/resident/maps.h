/*
 * maps: what a process has mapped at certain moments, from /proc/PID/smaps and numa_maps.
 *
 * Captures are taken soon after the start (a process that has ended by then costs nothing), now and
 * then, at each snapshot, and when the program begins to end. The more memory is resident, the
 * longer a capture takes, so the periodic ones take at most 1 % of the time. At most CAPTURES_ROOM
 * mappings are kept in all: if there are more, every second capture is dropped. Mappings of the
 * recorder are marked, and so are those that hold live heap blocks or the stack of a thread. A
 * process that the collector may not read has no captures. Which kind a mapping is (heap, stack,
 * file, ...) is decided by store/mapping_kinds.h.
 */
#ifndef TIDE_COLLECT_RESIDENT_MAPS_H
#define TIDE_COLLECT_RESIDENT_MAPS_H

#include "collect/counting/target.h"

#define CAPTURES_ROOM (1u << 16)

/* Call it after target_drain. */
void maps_take(struct target *t, enum capture_kind kind, uint64_t now_ns);
/* Reads the mappings of a process that stands still until maps_forget_still, for all readers.
 * Nothing is read if that fails. */
void maps_read_still(struct target *t, struct proc_still *still);
void maps_forget_still(struct target *t);
void maps_if_due(struct target *t, uint64_t now_ns);
/* Have the mappings been captured since the program began to end? */
bool maps_has_exit(const struct target *t);
/* Takes the capture of the program's end. Does nothing after the first call. */
void maps_at_exit(struct target *t, uint64_t now_ns);
/* The last mappings of a process that continues without us. */
void maps_at_detach(struct target *t, uint64_t now_ns);

/* Drops every second periodic capture, or if there are none, every second of all, except the first
 * and the last. false: there are too few. */
bool maps_thin_out(struct profile *p);

/* The estimated cost of one capture, in processor time. */
uint64_t maps_cost_ns(const struct target *t);

#endif
