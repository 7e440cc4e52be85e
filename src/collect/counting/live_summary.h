/*
 * live_summary: the blocks that are live at a moment, summed up by site, interval of allocation and
 * reach (what points to them: leakscan/reachability.h). Intervals may still be merged later, so a
 * row has the tick of its interval instead of its index until live_summary_finish.
 */
#ifndef TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H
#define TIDE_COLLECT_COUNTING_LIVE_SUMMARY_H

#include "base/map.h"
#include "collect/counting/blocks.h"
#include "store/recording.h"

struct target;

#define LIVE_SUMMARY_RECENT 256

/* A cache of rows, because blocks of one site and era often follow each other. */
struct recent_row {
    uint32_t site, birth, reach;
    uint32_t row; /* 1 + index of the row; 0: none */
};

struct live_summary {
    struct scan scan; /* intervals: a tick */
    bool looked;      /* the collector has read the process, or has tried to */
    uint64_t events;  /* number of events that had been read at that moment */
    VEC(struct live_row) rows;
    struct map index;        /* site and era -> row */
    VEC(uint32_t) era_ticks; /* index of era -> current tick of its interval */
    struct recent_row recent[LIVE_SUMMARY_RECENT];
};

/* Begins a summary. No events may be read between this call and the last live_summary_add. */
void live_summary_begin(struct live_summary *s, const struct target *t, enum scan_kind kind,
                        uint64_t now_ns);
/* Returns the number of the row to which the block was added. */
uint32_t live_summary_add(struct live_summary *s, const struct target *t, const struct block *b,
                          enum reach reach, uint64_t untouched);
/* Frees what only live_summary_add needs. Call it after the last live_summary_add. */
void live_summary_close(struct live_summary *s);
/* Sums up the blocks that are live now, without reachability. Returns false if they could not be
 * read, or if they changed meanwhile, so that fewer blocks were read than were counted. */
bool live_summary_take(struct live_summary *s, struct target *t, enum scan_kind kind,
                       uint64_t now_ns);
/* Makes the summary if the program has ended and its block index no longer exists: assumes that the
 * live blocks are those that each site allocated last. For a site that freed no block this is
 * exact. */
void live_summary_derive(struct live_summary *s, struct target *t, enum scan_kind kind,
                         uint64_t now_ns);
/* The same in two steps. The second only reads the intervals that have ended, so it may run while
 * another thread settles the peak. */
struct live_derivation {
    struct live_summary summary; /* the result */
    const struct target *target;
    struct amount *left; /* by site: the blocks whose interval was not found yet */
};
void live_derivation_begin(struct live_derivation *d, struct target *t, enum scan_kind kind,
                           uint64_t now_ns);
void live_derivation_run(struct live_derivation *d);
/* Leaves out what was freed since, according to the ledger. */
void live_summary_forget_freed(struct live_summary *s, const struct target *t);
/* Appends the rows to the profile, whose intervals must be final. */
void live_summary_finish(struct live_summary *s, struct target *t);
void live_summary_release(struct live_summary *s);

#endif
