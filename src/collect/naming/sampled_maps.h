/*
 * sampled_maps: the mappings of a process, from the kernel's events. The kernel reports no munmap,
 * so a mapping is forgotten when another takes its place.
 *
 * Invariant: in order of address, without overlaps.
 */
#ifndef TIDE_COLLECT_NAMING_SAMPLED_MAPS_H
#define TIDE_COLLECT_NAMING_SAMPLED_MAPS_H

#include "collect/naming/code_file.h"

/* Modules of samples have epochs of their own, different from those that programs assign. */
#define SAMPLE_EPOCH 0x4000u
#define LAST_EPOCH   0x7fffu /* the next bit says that a node is not code */

struct sampled_map {
    uint64_t start, end, offset;
    struct code_file *file; /* NULL: not executable; a file may still be mapped there */
    uint32_t epoch;
    bool is_file;
    bool known;    /* the mapping is listed among the profile's modules */
    uint64_t bias; /* run-time address minus address in the file, for code */
};

struct sampled_maps {
    VEC(struct sampled_map) items;
};

/* Adds a mapping, and removes what was there before. Returns true if code was removed. */
bool sampled_maps_add(struct sampled_maps *m, struct sampled_map new);
struct sampled_map *sampled_maps_find(const struct sampled_maps *m,
                                      uint64_t address); /* NULL: no mapping is there */
/* Copies the mappings to or from a forked process, except `known`. */
void sampled_maps_copy(struct sampled_maps *to, const struct sampled_maps *from);

#endif
