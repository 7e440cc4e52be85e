/*
 * fault_owners: finds out who allocated the memory at an address, which may be anywhere in a block.
 * It uses the blocks that are live now. A sample is processed some milliseconds after it was taken:
 * memory that was freed meanwhile has no owner any more.
 */
#ifndef TIDE_COLLECT_SAMPLING_FAULT_OWNERS_H
#define TIDE_COLLECT_SAMPLING_FAULT_OWNERS_H

#include "collect/naming/sampled_maps.h"
#include "collect/counting/target.h"

/* The block that was found last, of one target: faults often follow each other in the same
 * block. */
struct owner {
    struct block block;
};

/* Finds the account of the block, or else of the program's own mapping, that contains the address.
 * `m`: the mapping of the address; NULL: it is not known, and then no owner is found. */
bool owner_find(struct owner *last, struct target *t, const struct sampled_map *m, uint64_t address,
                uint32_t *account);

#endif
