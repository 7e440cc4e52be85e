/*
 * program_mmaps: the program's own mappings by address, with the account that mapped each page.
 * Ranges never overlap: mapping over a mapping, or unmapping a part of one, splits it. Ranges are
 * in order of address, and a binary search finds them; a process has at most some ten thousand. Not
 * thread-safe.
 */
#ifndef TIDE_COLLECT_COUNTING_PROGRAM_MMAPS_H
#define TIDE_COLLECT_COUNTING_PROGRAM_MMAPS_H

#include "base/vec.h"
#include "collect/counting/ledger.h"

struct program_mmap {
    uint64_t start, end;
    uint32_t account;
};

struct program_mmaps {
    VEC(struct program_mmap) items;
};

/* What one call unmapped, in case it has to be undone. */
struct cut {
    struct program_mmap range;
    bool whole; /* a whole mapping, not a part of a larger one */
};

struct cuts {
    VEC(struct cut) items;
};

void program_mmaps_map(struct program_mmaps *r, struct ledger *l, uint64_t start, uint64_t size,
                       uint32_t account);
/* Removes mapped ranges. Overwrites *cuts with what was removed, unless `cuts` is NULL. */
void program_mmaps_unmap(struct program_mmaps *r, struct ledger *l, uint64_t start, uint64_t size,
                         struct cuts *cuts);
/* Undoes program_mmaps_unmap, and empties `cuts`. A part that was cut out of a range becomes a
 * range of its own. */
void program_mmaps_put_back(struct program_mmaps *r, struct ledger *l, struct cuts *cuts);
const struct program_mmap *program_mmaps_holding(const struct program_mmaps *r,
                                                 uint64_t address); /* NULL: none */
void program_mmaps_release(struct program_mmaps *r);

#endif
