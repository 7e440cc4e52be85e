/*
 * calltree: the stacks that matter to a question, as a tree of calls with values.
 *
 * It is built from the stack tree of a profile, a measure and the filter of a question. It contains
 * only stacks with a value. Inlined frames are calls of their own, dropped frames are left out, and
 * each site is moved to the innermost call that is charged for it (neither the allocator itself
 * nor, by default, std:: internals).
 *
 * Which stacks count is decided by stack_filter.h and suppress_match.h, which frames are dropped by
 * frames.h, how calls become rows by aggregate.h and joined_tree.h.
 *
 * Invariant: call 0 is the root and no frame; calls are in preorder, so parent[c] < c, the calls
 * below c follow it directly, and one backward pass adds up subtrees. Ownership: borrows the frame
 * table; call_tree_release frees the rest.
 */
#ifndef TIDE_MODEL_CALLTREE_H
#define TIDE_MODEL_CALLTREE_H

#include <stdint.h>

#include "model/call_paths.h"
#include "model/fold.h"
#include "model/measure.h"
#include "model/suppress_presets.h"

enum ignored_kind { IGNORED_PATTERN, IGNORED_SUPPRESSION, IGNORED_PRESET, IGNORED_KINDS };

/* A suppression that left something out. */
struct ignored_rule {
    const char *name;
    struct value value;
};

struct call_tree {
    const struct frame_table *frames;
    struct call_numbers parent;
    struct call_numbers frame; /* index into frames->frames; CALL_NONE for the root */
    /* The node of the profile to which the frame belongs; 0 for the root and markers. */
    struct call_numbers node;
    /* The kept paths from which its calls were picked; NULL: it has its own. */
    struct call_paths *paths;
    uint32_t *path_call; /* with `paths`: call -> call there, except the `markers` at the end */
    size_t markers;      /* number of calls that stand for stacks without a frame to list */
    struct value *own;   /* charged to this call itself */
    struct value *below; /* own, and everything that it called */
    uint32_t *site_call, /* for each site: the call that is charged; CALL_NONE: none */
        *site_leaf;      /* for each site: the innermost call that is not folded */
    bool by_max;
    struct value sum; /* the sum of the whole tree */
    /* The value of 100 %: the sum without signs, so that differences have shares too. */
    int64_t scale;
    struct value ignored; /* everything that --ignore, suppressions and presets left out */
    struct value ignored_by[IGNORED_KINDS];
    struct value presets[PRESETS];       /* what each preset left out */
    VEC(struct ignored_rule) suppressed; /* what each suppression left out, in order of the lists */
    struct value outside;                /* left out by --within or --thread */
};

/* Builds the tree for a measure. Sites that have a value only in `also` (which may be NULL) get a
 * call too, with an own value of zero. -ENOENT: the filter names a thread that does not exist, or a
 * pattern that no function of any stack matches. */
int call_tree_build(struct call_tree *t, struct frame_table *frames, const struct measure *m,
                    const struct measure *also, enum charge charge, struct err *err);
void call_tree_release(struct call_tree *t);

/*
 * Walks calls in preorder and says when a call is left, so that the caller can count what is on the
 * current path.
 *
 *     struct call_walk w = {0};
 *     for (uint32_t c = 1; c < count; c++) {
 *         for (uint32_t left; (left = call_walk_leave(&w, t, c)) != CALL_NONE;) ...
 *         ...
 *     }
 */
struct call_walk {
    VEC(uint32_t) path;
};

/* The next call to leave before `call` is entered, innermost first; CALL_NONE: enter `call` now. */
uint32_t call_walk_leave(struct call_walk *w, const struct call_tree *t, uint32_t call);

#endif
