/*
 * process_sizes: RSS, virtual size and page faults of a process over time, read from
 * /proc/PID/statm and stat. This file decides when (FIRST_STAMP_NS in the .c) and keeps the curve
 * that `summary` and `growth` show. What the resident pages consist of is decided by
 * resident/footprint.h; a mark of the program brings its own sizes (record/api.c,
 * counting/marks.h).
 *
 * One reading is a struct stamp (store/recording.h). At most STAMPS_MAX are kept: if there are
 * more, every second one is dropped and the time between two readings doubles.
 */
#ifndef TIDE_COLLECT_RESIDENT_PROCESS_SIZES_H
#define TIDE_COLLECT_RESIDENT_PROCESS_SIZES_H

#include "collect/counting/target.h"

/* Reads the sizes now; false: the process has ended. */
bool process_sizes_read(struct target *t, uint64_t now_ns, struct stamp *s);
/* Reads and keeps them if that is due; false: it was not, or the process is gone. */
bool process_sizes_if_due(struct target *t, uint64_t now_ns);
/* Reads and keeps them when the program begins to end and waits, if its allocator has reported
 * figures. */
void process_sizes_at_exit(struct target *t, uint64_t now_ns, const struct wire_held *held);
/* Adds a mark that was requested from outside, with the sizes now, and ends an interval. */
void process_sizes_mark(struct target *t, const char *label, uint64_t now_ns);

/* The resident pages at the last reading that is kept. */
uint64_t process_sizes_resident_pages(const struct target *t);

#endif
