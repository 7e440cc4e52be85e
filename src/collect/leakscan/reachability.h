/*
 * reachability: which blocks can still be got at, from words in memory that may be pointers.
 *
 * Any aligned word that holds an address inside a block keeps it: at its beginning or further in,
 * but not one past its end, unless the block is an empty C++ array: those of a type with a
 * destructor have their length before the first element, so that the array begins where the block
 * ends. Such a block has 8 or 16 bytes, the last 8 of which are 0. What is reached from the roots
 * is reachable, and so is what reachable blocks point to. Of the rest a block is lost if no other
 * of the rest leads to it; what lost blocks lead to is indirect. Blocks that lead to each other in
 * a circle, with nothing else leading there: the one with the lowest address is lost, the others
 * indirect. Each indirect block belongs to one lost block, its root, that leads to it: to one of
 * them, where several do.
 *
 * In this order: reachability_add for all blocks, reachability_ready; reachability_word and
 * reachability_from for the roots and reachability_note for the blocks, which read memory; then
 * reachability_run, which does not. So all of memory is read once, in order, however the blocks are
 * linked: the process stands still meanwhile.
 *
 * Memory is read through a function, as the process's is far away; reachability_note calls it from
 * several threads. About 32 bytes a block, and 4 for each pointer in one.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_REACHABILITY_H
#define TIDE_COLLECT_LEAKSCAN_REACHABILITY_H

#include <stdbool.h>

#include "collect/proc/address_set.h"
#include "store/recording.h"

/* Fills `out` with what is in the ranges, one after the other; zeros where nothing can be read. */
typedef void reachability_read(void *context, const struct address_range *ranges, size_t count,
                               char *out);

#define REACHABILITY_PAST_END                                                                      \
    (UINT32_C(1) << 31) /* one past its end: it counts if that is an array */

struct reachability_block {
    uint64_t address : 48, state : 15; /* enum reach */
    uint64_t empty : 1;                /* it is an empty array */
    uint64_t size; /* later: where its pointers are in reach.pointers; in the end, of lost and
                      indirect ones, the number of the root */
};

/* Blocks with no large gaps between them. */
struct reachability_area {
    uint64_t start, end;
    size_t first_cell;
    uint32_t first; /* block */
    uint32_t shift; /* a cell is so many bits of the address */
};

struct reachability {
    VEC(struct reachability_block) blocks; /* in order of address */
    VEC(struct reachability_area) areas;
    VEC(uint32_t) cells; /* how many blocks begin before the cell; one more at an area's end */
    uint64_t low, span;  /* of all blocks */
    VEC(uint32_t) found; /* and not looked into yet */
    VEC(uint32_t) ended; /* blocks with a root one past their end */
    VEC(uint32_t)
    pointers;     /* of each block: how many, and to which; perhaps REACHABILITY_PAST_END */
    size_t roots; /* lost blocks */
    reachability_read *read;
    void *context;
    char *buffer;
};

void reachability_add(struct reachability *f, uint64_t address, uint64_t size);
void reachability_ready(struct reachability *f, reachability_read *read, void *context);
/* A word of a root. */
void reachability_word(struct reachability *f, uint64_t word);
/*
 * A part of memory whose words are roots, except what belongs to blocks. `malloc_state`: libc's own
 * data, which has pointers to free chunks: their headers are in the last word of the block before,
 * and no pointers to that.
 */
void reachability_from(struct reachability *f, uint64_t start, uint64_t end, bool malloc_state);
void reachability_note(struct reachability *f);
/* How many threads reachability_note uses for so many bytes of blocks. */
unsigned reachability_threads(uint64_t bytes);
/* Then reach.blocks have their states. */
void reachability_run(struct reachability *f);
/* The number of the block that an address is in; UINT32_MAX: none. */
uint32_t reachability_find(const struct reachability *f, uint64_t address);
void reachability_release(struct reachability *f);

#endif
