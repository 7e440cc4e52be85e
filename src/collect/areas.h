/*
 * areas: what is mapped where in a process, as the kernel told it. It does not tell when
 * something is unmapped: a mapping is forgotten when another takes its place.
 *
 * Invariant: in order of address, and none overlaps another.
 */
#ifndef TIDE_COLLECT_AREAS_H
#define TIDE_COLLECT_AREAS_H

#include "collect/codefile.h"

/* Modules that samples refer to have epochs of their own, apart from those that programs give. */
#define SAMPLE_EPOCH 0x4000u
#define LAST_EPOCH   0x7fffu /* the bit above says that a node is no code */

struct area {
    uint64_t start, end, offset;
    struct code_file *file; /* NULL: no code; it may be a file all the same */
    uint32_t epoch;
    bool is_file;
    bool known;    /* it is a module of the profile */
    uint64_t bias; /* of code */
};

struct areas {
    VEC(struct area) items;
};

/* Returns whether code went away. */
bool areas_add(struct areas *m, struct area new);
struct area *areas_find(const struct areas *m, uint64_t address); /* NULL: none */
/* For a forked process, or from one; `known` is not copied. */
void areas_copy(struct areas *to, const struct areas *from);

#endif
