/*
 * sampled_maps: the mappings of a process, from the events of the kernel. The kernel reports no
 * munmap, so a mapping is forgotten when another takes its place.
 *
 * Invariant: in order of address, and none overlaps another.
 */
#ifndef TIDE_COLLECT_NAMING_SAMPLED_MAPS_H
#define TIDE_COLLECT_NAMING_SAMPLED_MAPS_H

#include "collect/naming/code_file.h"

/* Modules that samples refer to have epochs of their own, apart from those that programs give. */
#define SAMPLE_EPOCH 0x4000u
#define LAST_EPOCH   0x7fffu /* the bit above says that a node is no code */

struct sampled_map {
    uint64_t start, end, offset;
    struct code_file *file; /* NULL: no code; it may be a file all the same */
    uint32_t epoch;
    bool is_file;
    bool known;    /* it is a module of the profile */
    uint64_t bias; /* of code */
};

struct sampled_maps {
    VEC(struct sampled_map) items;
};

/* Returns whether code went away. */
bool sampled_maps_add(struct sampled_maps *m, struct sampled_map new);
struct sampled_map *sampled_maps_find(const struct sampled_maps *m,
                                      uint64_t address); /* NULL: none */
/* For a forked process, or from one; `known` is not copied. */
void sampled_maps_copy(struct sampled_maps *to, const struct sampled_maps *from);

#endif
