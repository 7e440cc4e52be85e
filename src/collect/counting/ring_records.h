/*
 * ring_records: the records of a ring that are not about counts: threads, mappings, and blocks of
 * pools. read_rings.c reads the rings and calls these.
 */
#ifndef TIDE_COLLECT_COUNTING_RING_RECORDS_H
#define TIDE_COLLECT_COUNTING_RING_RECORDS_H

#include "collect/counting/target.h"

/* Handles a record about the ring's thread: it begins, takes a name, or ends. */
void record_thread(struct target *t, struct reader *r, const uint64_t *w);
/* Handles a record about memory that is mapped or unmapped, or about a block of a pool. */
void record_map(struct target *t, struct reader *r, const uint64_t *w);

#endif
