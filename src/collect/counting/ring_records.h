/*
 * ring_records: what the records of a ring mean that are not about counts: threads, mappings, and
 * blocks of pools. drain.c reads the rings and calls these.
 */
#ifndef TIDE_COLLECT_COUNTING_RING_RECORDS_H
#define TIDE_COLLECT_COUNTING_RING_RECORDS_H

#include "collect/counting/target.h"

/* The account of a stack and the ring's thread. A stack that the program never made has that of
 * stack 0. */
uint32_t record_account(struct target *t, const struct reader *r, uint32_t stack,
                        enum domain domain);
/* The words of a record on the ring's thread: it begins, takes a name, or ends. */
void record_thread(struct target *t, struct reader *r, const uint64_t *w, uint64_t now_ns);
/* The words of a record on memory that is mapped or unmapped, or on a block of a pool. */
void record_map(struct target *t, struct reader *r, const uint64_t *w);

#endif
