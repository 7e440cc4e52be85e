/*
 * heap_pages: the resident pages that may hold heap blocks, each with a number, and the owner of
 * each page if no block lies on it. footprint.h says how the owner is decided.
 *
 * Ownership: heap_pages_release frees the lists.
 */
#ifndef TIDE_COLLECT_RESIDENT_HEAP_PAGES_H
#define TIDE_COLLECT_RESIDENT_HEAP_PAGES_H

#include "collect/resident/footprint.h"

#define NO_CLAIM SIZE_MAX

/* A range of which it is known who mapped it. */
struct claim {
    uint64_t start, end;
    enum footprint_part part;
    bool has_blocks; /* set by footprint_join.c */
};

/* Adjacent resident pages of one owner. */
struct page_area {
    uint64_t start, end;
    size_t first;             /* the number of its first page */
    enum footprint_part part; /* PART_FREE: it belongs to the allocator */
    size_t claim;             /* index into claims, or NO_CLAIM */
    uint64_t heap;            /* address of the glibc arena that the area is part of; 0: none */
    bool is_main;             /* the arena that grows by brk */
};

struct heap_pages {
    VEC(struct claim) claims;   /* in order, without overlaps */
    VEC(struct page_area) list; /* in order */
    size_t page_count;
    size_t last; /* the area that was found last */
    bool is_glibc;
};

/* Finds the areas. Pages that cannot hold a block are added to their parts of the footprint at
 * once. */
void heap_pages_find(struct heap_pages *s, const struct footprint_reading *l,
                     const struct target *t, uint64_t parts[FOOTPRINT_PARTS]);
void heap_pages_release(struct heap_pages *s);
/* The index of the first area that ends after an address. */
size_t heap_pages_after(struct heap_pages *s, uint64_t address);

#endif
