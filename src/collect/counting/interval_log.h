/*
 * interval_log: the interval log while it is being written.
 *
 * Intervals start short. When there are too many of them, or too many rows in them, neighbours are
 * merged and the length doubles, so that what is kept depends on the number of sites and not on how
 * long the run takes. Rows are held packed (store/rows.h). The end of an interval that is a mark's
 * stays.
 */
#ifndef TIDE_COLLECT_COUNTING_INTERVAL_LOG_H
#define TIDE_COLLECT_COUNTING_INTERVAL_LOG_H

#include "base/strbuf.h"
#include "collect/counting/ledger.h"
#include "store/recording.h"

/*
 * There are between MAX / 2 and MAX intervals; once rows took too much room, between MIN / 2 and
 * MIN. At the end MAX / 2 or MIN / 2 at most, and fewer where rows are large, but LEAST.
 */
#define INTERVAL_LOG_MAX   128
#define INTERVAL_LOG_MIN   24
#define INTERVAL_LOG_LEAST 8
/* Intervals that end at marks and stay; later marks are as exact as the interval they fall into. A
 * program may move its tick as it likes, but not fill our memory by it. */
#define INTERVAL_LOG_KEPT (1u << 18)
/* An interval is at least this long for each row of the last one: to tell, count and pack a row takes
 * a tenth of it. */
#define INTERVAL_LOG_ROW_NS 4000
/* Bytes of rows. */
#define INTERVAL_LOG_ROOM(sites)    (((size_t)256 << 10) + 64 * (sites))
#define INTERVAL_LOG_SETTLED(sites) (((size_t)256 << 10) + 48 * (sites))

struct slice {
    struct interval interval; /* its rows are here, not in a profile */
    struct strbuf rows;
    size_t row_count;
    uint32_t tick; /* the last one that belongs to it */
    bool kept;     /* ends at a mark: not to be merged with the next */
    uint64_t live_bytes, live_blocks, allocations; /* at its end; the latter since the start */
};

struct interval_log {
    VEC(struct slice) slices;
    uint64_t length_ns;
    size_t bytes;         /* of rows */
    uint64_t next_end_ns; /* when the open interval is due to end */
    bool crowded;         /* rows took too much room */
    size_t kept;          /* slices that are */
};

void interval_log_init(struct interval_log *t, uint64_t length_ns);
void interval_log_release(struct interval_log *t);
/* Ends the open interval at `end_ns`: takes the ledger's deltas and clears them. */
void interval_log_close(struct interval_log *t, struct ledger *l, uint64_t end_ns, uint32_t tick,
                        bool kept);
/* No mark after all ended the slice with that tick. */
void interval_log_let_go(struct interval_log *t, uint32_t tick);
/* The number of intervals up to the end of the one with that tick. */
size_t interval_log_find(const struct interval_log *t, uint32_t tick);
/* At the end: so few intervals that a file's size does not hang on when the run ended. */
void interval_log_settle(struct interval_log *t, const struct ledger *l);

#endif
