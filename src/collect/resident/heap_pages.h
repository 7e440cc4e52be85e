/*
 * heap_pages: the resident pages that may hold heap blocks, each with a number, and whose they are
 * if no block lies there. footprint.h says how that is decided.
 *
 * Ownership: heap_pages_release frees the lists.
 */
#ifndef TIDE_COLLECT_RESIDENT_HEAP_PAGES_H
#define TIDE_COLLECT_RESIDENT_HEAP_PAGES_H

#include "collect/resident/footprint.h"

#define NO_CLAIM SIZE_MAX

/* Somebody is known to have mapped it. */
struct claim {
    uint64_t start, end;
    enum footprint_part part;
    bool has_blocks; /* set by others */
};

/* Resident pages side by side. */
struct page_area {
    uint64_t start, end;
    size_t first;             /* number of its first page */
    enum footprint_part part; /* PART_FREE: the allocator's */
    size_t claim;             /* in claims, or NO_CLAIM */
    uint64_t heap;            /* address of the arena it is part of; 0: of none, or not glibc's */
    bool is_main;             /* the arena that grows by brk */
};

struct heap_pages {
    VEC(struct claim) claims;   /* in order, without overlaps */
    VEC(struct page_area) list; /* in order */
    size_t page_count;
    size_t last; /* area that was found last */
    bool is_glibc;
};

/* Pages that cannot hold a block are added to their parts at once. */
void heap_pages_find(struct heap_pages *s, const struct footprint_look *l, const struct target *t,
                     uint64_t parts[FOOTPRINT_PARTS]);
void heap_pages_release(struct heap_pages *s);
/* The first area that ends after an address. */
size_t heap_pages_after(struct heap_pages *s, uint64_t address);

#endif
