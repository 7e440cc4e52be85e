/*
 * call_paths: the stacks of a profile as paths of calls, without any measure. Inlined frames are
 * calls of their own; dropped frames are left out. A call tree (model/calltree.h) consists of the
 * calls that matter to its question, with values.
 *
 * For a recording that is held for many questions (store/held_recordings.h), the paths of all sites
 * belong to the frame table, which is kept for the next question. A question about another metric
 * or moment then picks its calls from these paths, in the same order as if it had built them
 * itself, and does not read the stacks again.
 *
 * Invariant: call 0 is the root and no frame; calls are in preorder, so parent[c] < c. Ownership:
 * call_paths_release frees everything but the frame table.
 */
#ifndef TIDE_MODEL_CALL_PATHS_H
#define TIDE_MODEL_CALL_PATHS_H

#include <stdint.h>

#include "model/frames.h"
#include "model/suppress_match.h"

#define CALL_NONE UINT32_MAX

struct call_numbers {
    uint32_t *items;
    size_t count, capacity;
};

/* Calls with equal paths from the root, merged to one node (model/joined_tree.h); built when first
 * needed. */
struct merged_paths {
    uint32_t *of_call;      /* call -> node; NULL: not built yet */
    uint32_t *parent, *key; /* by node: its parent and its frame */
    size_t count;
};

struct call_paths {
    struct call_numbers parent, frame, node; /* as in a call tree */
    VEC(uint16_t) flags;                     /* call -> flags of its frame, compact */
    uint32_t *leaf;                          /* node -> its innermost listed call */
    uint16_t *stack_flags;                   /* node -> flags of all frames of its stack */
    VEC(uint32_t) order; /* the nodes that were visited, each after its parent */
    bool interpreter;    /* Python's own C code is listed in every stack */
    struct merged_paths merged;
};

/* Builds the paths of some sites. `wanted`: which sites count; NULL: all. */
void call_paths_build(struct call_paths *p, struct frame_table *frames, const bool *wanted);
void call_paths_release(struct call_paths *p);

/* Call it after flags of frames have changed, other than those that decide which calls are
 * listed. */
void call_paths_set_flags(struct call_paths *p, const struct frame_table *frames);

/* For each node, the first rule that one frame of its stack matches, or SUPPRESS_NONE. The caller
 * frees the result. */
uint32_t *call_paths_rules(const struct call_paths *p, struct suppress_match *suppress);

/* The paths of all sites, kept with the frame table. They are built once the table has been used a
 * few times, or by call_paths_prepare. NULL: there are none. */
struct call_paths *call_paths_kept(struct frame_table *frames);
/* Builds the paths of all sites now, if the table is to be kept. */
struct call_paths *call_paths_prepare(struct frame_table *frames);

#endif
