/*
 * live_summary: the blocks that are live at a moment, summed up by site, interval of birth and
 * reach.
 *
 * Intervals may still be merged after the moment, so a row has a tick in place of its interval
 * until live_summary_finish.
 */
#ifndef TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H
#define TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H

#include "base/map.h"
#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

#define LIVE_SUMMARY_RECENT 256

/* Blocks of one site and era follow each other: to which row they go. */
struct survivor {
    uint32_t site, birth, reach;
    uint32_t row; /* + 1; 0: none */
};

struct live_summary {
    struct scan scan; /* intervals: a tick */
    bool looked;      /* into the process, or tried to */
    uint64_t events;  /* that had been read by then */
    VEC(struct live_row) rows;
    struct map index;        /* site and era -> row */
    VEC(uint32_t) era_ticks; /* index of era -> tick of its interval as it is now */
    struct survivor recent[LIVE_SUMMARY_RECENT];
};

/* No events are read between this and the last live_summary_add. */
void live_summary_begin(struct live_summary *s, const struct target *t, enum scan_kind kind,
                        uint64_t now_ns);
/* The number of the row that it went to. */
uint32_t live_summary_add(struct live_summary *s, const struct target *t, const struct block *b,
                          enum reach reach, uint64_t untouched);
/* After the last of them: gives back what only live_summary_add needs. */
void live_summary_close(struct live_summary *s);
/* Of the blocks that are there now, with no word on what points to them. false: they could not be
 * read, or changed meanwhile: what was read is not all that was counted. */
bool live_summary_take(struct live_summary *s, struct target *t, enum scan_kind kind,
                       uint64_t now_ns);
/* The same when the program that counted in place is gone, and its index with it: blocks are those
 * that its sites allocated last. Where a site freed none, that is exact. */
void live_summary_derive(struct live_summary *s, struct target *t, enum scan_kind kind,
                         uint64_t now_ns);
/* Appends to the profile, whose intervals are final. */
void live_summary_finish(struct live_summary *s, struct target *t);
void live_summary_release(struct live_summary *s);

#endif
