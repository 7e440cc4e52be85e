/*
 * scan: a look at all live blocks of a process: what points to them, and which of their pages were
 * ever touched. docs/leaks.md explains it to users.
 *
 * A look that would take longer than limit_ns is left out: what it would take is known once the
 * pages are. Of a forked process only what it wrote since the fork is read then (scan_forked.h).
 *
 * scan_look has the process stand still while it reads its memory, and lets it go. A process with
 * one thread that waits for us anyway is not touched at all. scan_finish then sums up what was
 * found, which takes as long again, and adds it to the target; no events may be read in between.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_SCAN_H
#define TIDE_COLLECT_LEAKSCAN_SCAN_H

#include "collect/resident/footprint.h"
#include "collect/leakscan/memory.h"
#include "collect/leakscan/reachability.h"
#include "collect/counting/target.h"

/* What reachability does not know of a block. */
struct scanned_block {
    uint64_t size;
    uint32_t slack, site, birth;
    bool inherited;
    bool older; /* it is from before the recording; of the rest only its size is known */
};

/* Blocks that were allocated before the recording began, in order of address. The last word of each,
 * which may be the allocator's, is not in its range: together with the header so many bytes of the
 * heap are not. */
#define OLDER_BLOCK_REST 16
struct older_blocks {
    VEC(struct address_range) items;
};

struct stopped_threads;
struct scanning {
    struct target *target;
    enum scan_kind kind;
    const struct wire_request *waiting; /* its thread that waits for our answer; NULL: none */
    struct footprint_look *footprint;   /* to be filled while it stands still; NULL: none */
    /* Finds the blocks from before, while all threads stand still; false: it cannot. NULL: nobody
     * asks for these. */
    bool (*find_older)(void *context, const struct stopped_threads *h, struct older_blocks *out);
    void *older_context;
    struct older_blocks older;
    size_t older_next; /* to be added */
    struct older_reach older_reach;
    uint64_t limit_ns;    /* of processor time, for all of it (end_budget.h) */
    uint64_t cost_ns;     /* that another thread used for it */
    uint64_t estimate_ns; /* of what was done, by counts; the sums afterwards too */
    bool left_out;        /* it would have taken longer */
    bool in_flight; /* a thread stands in the middle of realloc: nobody knows where its block is */
    uint64_t time_ns, held_ns;
    uint32_t tick; /* the last one before it */
    struct memory memory;
    struct reachability reach;
    VEC(struct scanned_block) blocks; /* the same as reach.blocks */
    struct live_summary summary;      /* where no reach is known: its rows, if `summed` */
    bool summed;
    char *unreachable; /* why no reach is known; NULL: it is */
};

void scan_look(struct scanning *s);
void scan_finish(struct scanning *s);
/* When a process said hello: what must be known from the start. */
void scan_prepare(struct target *t, uint64_t thread_pointer);

#endif
