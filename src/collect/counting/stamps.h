/*
 * stamps: the process as /proc shows it, at times that the collector chooses. At most STAMPS_MAX
 * are kept: if there are more, every second one is dropped and the distance doubles.
 */
#ifndef TIDE_COLLECT_COUNTING_STAMPS_H
#define TIDE_COLLECT_COUNTING_STAMPS_H

#include "collect/counting/target.h"

/* false: the process is gone. */
bool stamp_take(struct target *t, uint64_t now_ns, struct stamp *s);
/* Takes a stamp if one is due; false: none was, or the process is gone. */
bool stamp_if_due(struct target *t, uint64_t now_ns);

/* Sets what the allocator reported about itself, if anything. */
void stamp_set_held(struct stamp *s, const struct wire_held *held);
/* The program begins to end, and waits: takes a stamp if its allocator has reported something for
 * it. */
void stamp_at_exit(struct target *t, uint64_t now_ns, const struct wire_held *held);

/* The resident pages at the last stamp. */
uint64_t stamps_resident_pages(const struct target *t);

#endif
