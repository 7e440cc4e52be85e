/*
 * scan: examines all live blocks of a process: what points to them, and which of their pages were
 * ever touched. docs/leaks.md explains it to users.
 *
 * A scan that would take longer than limit_ns is left out; the estimate is made once the resident
 * pages are known. For a forked process, only the pages that it has written to since the fork are
 * read (scan_forked.h).
 *
 * roots.h decides where pointers are looked for, reachability.h what follows from them,
 * session/end_budget.h how long a scan at the end may take. Which losses are reported is decided by
 * analyse/leaks.h.
 *
 * scan_read stops the process, reads its memory and lets it continue. A process with one thread
 * waits for the collector anyway and need not be stopped. scan_finish then sums up the result,
 * which takes about as long as scan_read, and adds it to the target. No events may be read between
 * the two calls.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_SCAN_H
#define TIDE_COLLECT_LEAKSCAN_SCAN_H

#include "collect/resident/footprint.h"
#include "collect/leakscan/memory.h"
#include "collect/leakscan/reachability.h"
#include "collect/counting/target.h"

/* What struct reachability does not store about a block. */
struct scanned_block {
    uint64_t size;
    uint32_t slack, site, birth;
    bool inherited;
    bool older; /* the block was allocated before the recording; only its size is known */
};

/* Blocks that were allocated before the recording began, in order of address. The last word of each
 * is not in its range, because it may be the allocator's. OLDER_BLOCK_REST is the number of bytes
 * of a chunk that are not in the range, including the header. */
#define OLDER_BLOCK_REST 16
struct older_blocks {
    VEC(struct address_range) items;
};

struct stopped_threads;
struct scanning {
    struct target *target;
    enum scan_kind kind;
    /* The request of the thread that waits for our answer; NULL: none. */
    const struct wire_request *waiting;
    struct footprint_reading *footprint; /* to be filled while the process is stopped; NULL: none */
    /* Finds the blocks from before the recording, while all threads are stopped; returns false if
     * it cannot. NULL: such blocks are not scanned. */
    bool (*find_older)(void *context, const struct stopped_threads *h, struct older_blocks *out);
    void *older_context;
    struct older_blocks older;
    size_t older_next; /* index of the next one to be added */
    struct older_reach older_reach;
    uint64_t limit_ns; /* limit of processor time for the whole scan (end_budget.h) */
    uint64_t cost_ns;  /* processor time that another thread used for the scan */
    /* The cost of the work so far and of scan_finish, estimated from counts. */
    uint64_t estimate_ns;
    bool left_out;  /* the scan would have taken longer than limit_ns */
    bool in_flight; /* a thread is in the middle of realloc, so its block may be anywhere */
    uint64_t time_ns, held_ns;
    uint32_t tick; /* the last tick before the scan */
    struct memory memory;
    struct reachability reach;
    VEC(struct scanned_block) blocks; /* parallel to reach.blocks */
    struct live_summary summary; /* valid if `summed`: the rows, where reachability is unknown */
    bool summed;
    char *unreachable; /* why reachability is unknown; NULL: it is known */
};

void scan_read(struct scanning *s);
void scan_finish(struct scanning *s);
/* Finds what a scan must know from the start. Call it when a process connects. */
void scan_prepare(struct target *t, uint64_t thread_pointer);

#endif
