/*
 * interval_log: the rows of each interval, while a process is being recorded.
 *
 * Intervals start short. When there are too many of them, or too many rows in them, neighbours are
 * merged and the length doubles, so memory depends on the number of sites and not on the length of
 * the run. Rows are held packed (store/rows.h). The end of an interval at a mark is kept. When an
 * interval ends is decided in target.c (target_boundary) and read_rings.c.
 */
#ifndef TIDE_COLLECT_COUNTING_INTERVAL_LOG_H
#define TIDE_COLLECT_COUNTING_INTERVAL_LOG_H

#include "base/strbuf.h"
#include "collect/counting/ledger.h"
#include "store/recording.h"

/*
 * There are between MAX / 2 and MAX intervals; once rows took too much room, between MIN / 2 and
 * MIN. At the end there are at most MAX / 2 or MIN / 2, and fewer if rows are large, but at least
 * LEAST.
 */
#define INTERVAL_LOG_MAX   128
#define INTERVAL_LOG_MIN   24
#define INTERVAL_LOG_LEAST 8
/* How many intervals that end at marks are kept; later marks are as exact as the interval they fall
 * into. A program may advance its tick as it likes, but must not fill our memory that way. */
#define INTERVAL_LOG_KEPT (1u << 18)
/* An interval is at least this long for each row of the last one. A row costs a twentieth of it: it
 * is reported, counted, packed, and packed again when neighbours are merged. */
#define INTERVAL_LOG_ROW_NS 8000
/* The most bytes that rows may take while the program runs, and at the end. */
#define INTERVAL_LOG_ROOM(sites)    (((size_t)256 << 10) + 64 * (sites))
#define INTERVAL_LOG_SETTLED(sites) (((size_t)256 << 10) + 48 * (sites))

struct slice {
    struct interval interval; /* its rows are in `rows`, not in a profile */
    struct strbuf rows;
    size_t row_count;
    uint32_t tick; /* the last tick that belongs to the interval */
    bool kept;     /* the interval ends at a mark, so it is not merged with the next one */
    /* At the end of the interval; allocations since the start. */
    uint64_t live_bytes, live_blocks, allocations;
};

struct interval_log {
    VEC(struct slice) slices;
    uint64_t length_ns;
    size_t bytes;         /* bytes of all rows */
    uint64_t next_end_ns; /* when the open interval is due to end */
    bool crowded;         /* rows have taken more than INTERVAL_LOG_ROOM */
    size_t kept;          /* number of slices that are kept */
    size_t kept_first;    /* so many slices at the beginning are all kept: none can be merged */
    size_t not_kept;      /* number of marks for which there was no room in INTERVAL_LOG_KEPT */
    uint64_t marked_ns;   /* the end of the last slice that was kept */
};

void interval_log_init(struct interval_log *t, uint64_t length_ns);
void interval_log_release(struct interval_log *t);
/* Ends the open interval at `end_ns`: takes the ledger's deltas and clears them. */
void interval_log_close(struct interval_log *t, struct ledger *l, uint64_t end_ns, uint32_t tick,
                        bool kept);
/* Is this the time of an interval that has ended, before or at a mark? Then *tick is that of the
 * interval. */
bool interval_log_ended(const struct interval_log *t, uint64_t time_ns, uint32_t *tick);
/* Adds packed rows to the interval with this tick. */
void interval_log_add(struct interval_log *t, const struct ledger *l, uint32_t tick,
                      const struct strbuf *rows);
/* Notes that the interval with this tick did not end at a mark after all. */
void interval_log_not_marked(struct interval_log *t, uint32_t tick);
/* Corrects the time at which the interval with this tick ended, at a mark: intervals end when the
 * mark is noticed, and its time is read later. */
void interval_log_marked_at(struct interval_log *t, uint32_t tick, uint64_t time_ns);
/* The number of intervals up to the end of the interval with this tick. */
size_t interval_log_find(const struct interval_log *t, uint32_t tick);
/* Reduces the number of intervals at the end, so that a file's size does not depend on when the run
 * ended. */
void interval_log_settle(struct interval_log *t, const struct ledger *l);

#endif
