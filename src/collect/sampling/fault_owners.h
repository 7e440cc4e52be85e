/*
 * fault_owners: who allocated the memory at an address that lies anywhere in it, by what is live
 * now.
 *
 * A sample is looked at some milliseconds after it was taken: what was freed meanwhile has no owner
 * any more.
 */
#ifndef TIDE_COLLECT_SAMPLING_FAULT_OWNERS_H
#define TIDE_COLLECT_SAMPLING_FAULT_OWNERS_H

#include "collect/naming/sampled_maps.h"
#include "collect/counting/target.h"

/* The block that was found last: faults come one after another in the same one. Of one target. */
struct owner {
    struct block block;
};

/* The account of the block, else of the program's own mapping, that holds the address. `m`: what is
 * mapped there; NULL: not known, and no owner is. */
bool owner_find(struct owner *last, struct target *t, const struct sampled_map *m, uint64_t address,
                uint32_t *account);

#endif
