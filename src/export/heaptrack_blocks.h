/*
 * heaptrack_blocks: allocations and frees, one by one, that add up to what a recording knows as
 * sums.
 *
 * heaptrack's file is a list of events; a recording has counts for each site and interval. So
 * events are made up: every site gets as many allocations, temporary ones, bytes, live blocks at
 * the peak and live blocks at the end as it had, exactly. Its blocks are of four classes: live at
 * the peak and at the end, at the peak only, at the end only, and neither. The last kind is freed
 * at once. The others are allocated as late and freed as early as what was live at the ends of
 * intervals permits. So what is live between is a lower bound, it rises to the peak and never
 * above, and the order of events within an interval means nothing.
 *
 * Blocks of one class have at most two sizes, one byte apart.
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

/* `count` blocks that have `bytes` together: the first of them have bytes / count, the last one
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
    bool ends_peak; /* its last block of BLOCKS_PEAK is temporary: the peak is its allocation */
};

/* What happens at a site in an interval. In the interval of the peak there are two: up to it,
 * and after. */
struct site_step {
    uint32_t row;              /* of the table */
    uint64_t risen;            /* allocated, of BLOCKS_STAY and then BLOCKS_PEAK */
    uint64_t fallen;           /* freed, of BLOCKS_PEAK */
    uint64_t kept;             /* allocated, of BLOCKS_END */
    uint64_t temporary, other; /* allocated and freed */
};

struct heaptrack_blocks {
    const struct stack_table *table;
    struct site_blocks *sites; /* by row of the table */
    size_t peak; /* the interval that has the peak in it; all of them: there is none */
    VEC(struct site_step) steps;
    /* By interval i, 2 i; and for what comes after the peak in its interval, 2 i + 1. */
    size_t *first;
    uint64_t temporaries_missing; /* that cannot be told as temporary */
};

/* Columns of the table that is asked for. */
enum { HEAPTRACK_TOTAL, HEAPTRACK_PEAK, HEAPTRACK_END, HEAPTRACK_TEMPORARY, HEAPTRACK_COLUMNS };

void heaptrack_blocks_init(struct heaptrack_blocks *b, const struct stack_table *t);
void heaptrack_blocks_release(struct heaptrack_blocks *b);

#endif
