/*
 * live_summary: the blocks that are live at a moment, summed up by site, interval of allocation and
 * reach. Intervals may still be merged after the moment, so a row has a tick instead of its
 * interval until live_summary_finish.
 */
#ifndef TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H
#define TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H

#include "base/map.h"
#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

#define LIVE_SUMMARY_RECENT 256

/* Blocks of one site and era often follow each other: remembers their row. */
struct recent_row {
    uint32_t site, birth, reach;
    uint32_t row; /* + 1; 0: none */
};

struct live_summary {
    struct scan scan; /* intervals: a tick */
    bool looked;      /* the process was read, or the attempt was made */
    uint64_t events;  /* number of events read by then */
    VEC(struct live_row) rows;
    struct map index;        /* site and era -> row */
    VEC(uint32_t) era_ticks; /* index of era -> present tick of its interval */
    struct recent_row recent[LIVE_SUMMARY_RECENT];
};

/* No events may be read between this and the last live_summary_add. */
void live_summary_begin(struct live_summary *s, const struct target *t, enum scan_kind kind,
                        uint64_t now_ns);
/* Returns the number of the row to which the block was added. */
uint32_t live_summary_add(struct live_summary *s, const struct target *t, const struct block *b,
                          enum reach reach, uint64_t untouched);
/* Call it after the last one: frees what only live_summary_add needs. */
void live_summary_close(struct live_summary *s);
/* Sums up the present blocks without reachability. false: they could not be read, or changed
 * meanwhile, so that not everything was read that was counted. */
bool live_summary_take(struct live_summary *s, struct target *t, enum scan_kind kind,
                       uint64_t now_ns);
/* The same if the program, and with it its index, is gone: the live blocks are taken to be those
 * that its sites allocated last. For a site that freed none this is exact. */
void live_summary_derive(struct live_summary *s, struct target *t, enum scan_kind kind,
                         uint64_t now_ns);
/* Appends the rows to the profile, whose intervals must be final. */
void live_summary_finish(struct live_summary *s, struct target *t);
void live_summary_release(struct live_summary *s);

#endif
