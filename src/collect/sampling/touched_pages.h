/*
 * touched_pages: finds out the kind of a page fault, and how much memory it made resident.
 *
 * For each region in which anything was touched, two bits are kept per page: the page has been
 * touched, and it was touched when the process forked or was forked, so that the next write to it
 * makes a copy. A region is the size of a huge page: 2 MiB for pages of 4 KiB, 32 MiB for 16 KiB,
 * 512 MiB for 64 KiB.
 */
#ifndef TIDE_COLLECT_SAMPLING_TOUCHED_PAGES_H
#define TIDE_COLLECT_SAMPLING_TOUCHED_PAGES_H

#include <sys/types.h>

#include "base/map.h"
#include "collect/naming/sampled_maps.h"
#include "machine/page.h"

enum fault_kind {
    FAULT_TOUCH, /* a page that was not resident */
    FAULT_HUGE,  /* a whole region at once */
    FAULT_FILE,  /* a page of a file */
    FAULT_COPY,  /* a copy of a page that was shared since a fork; RSS does not grow */
};

#define TOUCHED_PAGES_MOST (ARCH_PAGE_LARGEST / 8) /* pages of a region, at most */

struct touched_pages_region {
    uint64_t touched[TOUCHED_PAGES_MOST / 64], shared[TOUCHED_PAGES_MOST / 64];
    bool huge;
};

struct touched_pages {
    struct map index; /* address of a region divided by its size -> index in regions */
    VEC(struct touched_pages_region) regions;
    uint64_t huge_mapping; /* start of the last mapping in which a huge page was seen */
    unsigned waited;       /* faults that were read before the kernel had handled them */
};

/* Handles a fault at `address` in the mapping `m` (NULL: not known), and returns its kind. */
enum fault_kind touched_pages_fault(struct touched_pages *p, pid_t pid, const struct sampled_map *m,
                                    uint64_t address);
void touched_pages_fork(struct touched_pages *parent, struct touched_pages *child);
/* Forgets the pages of [start, end), which is a new mapping and untouched. */
void touched_pages_forget(struct touched_pages *p, uint64_t start, uint64_t end);
void touched_pages_clear(struct touched_pages *p);

/* The number of bytes that a fault of this kind made resident. */
static inline uint64_t fault_bytes(enum fault_kind kind)
{
    return kind == FAULT_COPY   ? 0
           : kind == FAULT_HUGE ? page_bytes() / 8 * page_bytes()
                                : page_bytes();
}

#endif
