/*
 * heaptrack_blocks: single allocations and frees that add up to the sums of a recording.
 *
 * heaptrack's file is a list of events; a recording has counts for each site and interval. So
 * events are made up: every site gets exactly as many allocations, temporary ones, bytes, live
 * blocks at the peak and live blocks at the end as it had.
 *
 * A site's blocks are of four classes: live at the peak and at the end, at the peak only, at the
 * end only, and neither. The last kind is freed at once. The others are allocated as late and freed
 * as early as the live counts at the ends of intervals permit. So the live amount in between is a
 * lower bound; it rises to the peak and never above; and the order of events within an interval has
 * no meaning. Blocks of one class have at most two sizes, one byte apart.
 *
 * Ownership: borrows the table; heaptrack_blocks_release frees the rest.
 */
#ifndef TIDE_EXPORT_HEAPTRACK_BLOCKS_H
#define TIDE_EXPORT_HEAPTRACK_BLOCKS_H

#include "export/stack_table.h"

enum block_class {
    BLOCKS_STAY,      /* live at the peak and at the end */
    BLOCKS_PEAK,      /* at the peak, not at the end */
    BLOCKS_END,       /* at the end, not at the peak */
    BLOCKS_TEMPORARY, /* at neither; freed before the next allocation of their thread */
    BLOCKS_OTHER,     /* at neither */
    BLOCK_CLASSES
};

/* `count` blocks with `bytes` together: the first ones have bytes / count, the last ones one byte
 * more. */
struct blocks {
    uint64_t count, bytes;
};

static inline uint64_t blocks_size(const struct blocks *b, bool larger)
{
    return b->count ? b->bytes / b->count + larger : 0;
}

/* How many have the smaller size. */
static inline uint64_t blocks_smaller(const struct blocks *b)
{
    return b->count ? b->count - b->bytes % b->count : 0;
}

struct site_blocks {
    struct blocks of[BLOCK_CLASSES];
    bool ends_peak; /* its last block of BLOCKS_PEAK is temporary: its allocation makes the peak */
};

/* What happens at a site in an interval. The interval of the peak has two: up to the peak, and
 * after it. */
struct site_step {
    uint32_t row;              /* of the table */
    uint64_t risen;            /* number allocated, of BLOCKS_STAY and then BLOCKS_PEAK */
    uint64_t fallen;           /* number freed, of BLOCKS_PEAK */
    uint64_t kept;             /* number allocated, of BLOCKS_END */
    uint64_t temporary, other; /* number allocated and freed */
};

struct heaptrack_blocks {
    const struct stack_table *table;
    struct site_blocks *sites; /* by row of the table */
    size_t peak;               /* the interval that contains the peak */
    VEC(struct site_step) steps;
    /* For interval i: entry 2 i, and for what comes after the peak in its interval, 2 i + 1. */
    size_t *first;
    uint64_t temporaries_missing; /* those that cannot be shown as temporary */
};

/* Columns of the table that is needed. */
enum { HEAPTRACK_TOTAL, HEAPTRACK_PEAK, HEAPTRACK_END, HEAPTRACK_TEMPORARY, HEAPTRACK_COLUMNS };

void heaptrack_blocks_init(struct heaptrack_blocks *b, const struct stack_table *t);
void heaptrack_blocks_release(struct heaptrack_blocks *b);

#endif
