/*
 * flood: which blocks can still be got at, from words in memory that may be pointers.
 *
 * Any aligned word that holds an address inside a block keeps it: at its beginning or further in,
 * but not one past its end. What is reached from the roots is reachable, and so is what reachable
 * blocks point to. Of the rest a block is lost if no other of the rest leads to it; what lost
 * blocks lead to is indirect. Blocks that lead to each other in a circle, with nothing else leading
 * there: the one with the lowest address is lost, the others indirect.
 *
 * In this order: flood_add for all blocks, flood_ready, flood_word and flood_from for the roots,
 * flood_run. From then on memory is not read, and flood_settle does the rest.
 *
 * Memory is read through a function, many pieces at a time: the process's is far away. About 22
 * bytes a block, and 4 for each pointer between blocks that are not reachable.
 */
#ifndef TIDE_COLLECT_FLOOD_H
#define TIDE_COLLECT_FLOOD_H

#include <stdbool.h>

#include "collect/extents.h"
#include "store/recording.h"

/* Fills `out` with what is in the spans, one after the other; zeros where nothing can be read. */
typedef void flood_read(void *context, const struct extent *spans, size_t count, char *out);

struct flood_block {
    uint64_t address : 48, state : 16; /* enum reach */
    uint64_t size;                     /* later: where its pointers are in flood.pointers */
};

/* Blocks with no large gaps between them. */
struct flood_area {
    uint64_t start, end;
    size_t first_cell;
    uint32_t first; /* block */
    uint32_t shift; /* a cell is so many bits of the address */
};

struct flood {
    VEC(struct flood_block) blocks; /* in order of address */
    VEC(struct flood_area) areas;
    VEC(uint32_t) cells;    /* how many blocks begin before the cell; one more at an area's end */
    uint64_t low, span;     /* of all blocks */
    VEC(uint32_t) found;    /* and not looked into yet */
    VEC(uint32_t) pointers; /* of blocks that are not reachable: how many, and to which */
    size_t open;            /* in it: those of the block that is being read */
    flood_read *read;
    void *context;
    char *buffer;
};

void flood_add(struct flood *r, uint64_t address, uint64_t size);
void flood_ready(struct flood *r, flood_read *read, void *context);
/* A word of a root. */
void flood_word(struct flood *r, uint64_t word);
/*
 * A part of memory whose words are roots, except what belongs to blocks. `malloc_state`: libc's own
 * data, which has pointers to free chunks: their headers are in the last word of the block before,
 * and no pointers to that.
 */
void flood_from(struct flood *r, uint64_t start, uint64_t end, bool malloc_state);
void flood_run(struct flood *r);
void flood_settle(struct flood *r);
/* The number of the block that an address is in; UINT32_MAX: none. */
uint32_t flood_find(const struct flood *r, uint64_t address);
void flood_release(struct flood *r);

#endif
