/*
 * stamps: the process as /proc shows it, on the collector's own clock. At most STAMPS_MAX are kept:
 * when there are more, every second one goes and the distance doubles.
 */
#ifndef TIDE_COLLECT_COUNTING_STAMPS_H
#define TIDE_COLLECT_COUNTING_STAMPS_H

#include "collect/counting/target.h"

/* false: the process is gone. */
bool stamp_take(struct target *t, uint64_t now_ns, struct stamp *s);
/* Takes a stamp if one is due; false: none was, or the process is gone. */
bool stamp_if_due(struct target *t, uint64_t now_ns);

/* What the allocator said of itself, if it did. */
void stamp_set_held(struct stamp *s, const struct wire_held *held);
/* The program begins to end, and waits: a stamp, if its allocator has told something for it. */
void stamp_at_exit(struct target *t, uint64_t now_ns, const struct wire_held *held);

/* What the last one saw. */
uint64_t stamps_resident_pages(const struct target *t);

#endif
