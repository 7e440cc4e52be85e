/*
 * size_stamps: readings of a process's sizes from /proc, at times that the collector chooses. At
 * most STAMPS_MAX are kept: if there are more, every second one is dropped and the time between two
 * stamps doubles.
 */
#ifndef TIDE_COLLECT_COUNTING_SIZE_STAMPS_H
#define TIDE_COLLECT_COUNTING_SIZE_STAMPS_H

#include "collect/counting/target.h"

/* Takes a stamp; false: the process has ended. */
bool stamp_take(struct target *t, uint64_t now_ns, struct stamp *s);
/* Takes a stamp if one is due; false: none was, or the process is gone. */
bool stamp_if_due(struct target *t, uint64_t now_ns);

/* Sets the figures that the allocator reported, if it reported any. */
void stamp_set_held(struct stamp *s, const struct wire_held *held);
/* Takes a stamp when the program begins to end and waits, if its allocator has reported figures. */
void stamp_at_exit(struct target *t, uint64_t now_ns, const struct wire_held *held);

/* The resident pages at the last stamp. */
uint64_t stamps_resident_pages(const struct target *t);

#endif
