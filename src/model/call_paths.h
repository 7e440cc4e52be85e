/*
 * call_paths: the stacks of a profile as paths of calls, whatever was measured on them.
 *
 * Inlined frames are calls of their own, dropped frames are left out. A call tree (model/calltree.h)
 * has those of them that matter to its question, with values.
 *
 * Of a recording that is held for many questions (store/held.h), the paths of all sites belong to
 * the frame table, which is kept for the next question. So a question about another metric or
 * moment picks its calls from them, in the same order as if it had made them itself, and does not
 * look at the stacks again.
 *
 * Invariant: call 0 is the root and no frame; calls are in preorder, so parent[c] < c.
 *
 * Ownership: call_paths_release frees everything but the frame table.
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

/* Calls with an equal way from the root are one (model/merged.h); made when first needed. */
struct merged_paths {
    uint32_t *of_call;      /* call -> node; NULL: not made yet */
    uint32_t *parent, *key; /* by node: its parent and its frame */
    size_t count;
};

struct call_paths {
    struct call_numbers parent, frame, node; /* as in a call tree */
    VEC(uint16_t) flags;   /* call -> flags of its frame, close together in memory */
    uint32_t *leaf;        /* node -> its innermost listed call */
    uint16_t *stack_flags; /* node -> flags of all frames of its stack */
    VEC(uint32_t) order; /* the nodes that were visited, each after its parent */
    uint32_t *rule;   /* node -> suppression that one frame of its stack satisfies; NULL: none do */
    bool interpreter; /* Python's own C code is listed in every stack */
    struct merged_paths merged;
};

/* `wanted`: which sites count; NULL: all of them. `suppress`: without rules, none applies. */
void call_paths_build(struct call_paths *p, struct frame_table *frames, const bool *wanted,
                      struct suppress_match *suppress);
void call_paths_release(struct call_paths *p);

/* After the flags of frames have changed, but for those that decide which calls are listed. */
void call_paths_set_flags(struct call_paths *p, const struct frame_table *frames);

/* Of all sites, kept with the frame table. NULL: the table is not kept, or leaves out presets, as
 * questions do that are about few of the sites. */
struct call_paths *call_paths_kept(struct frame_table *frames);

#endif
