/*
 * calltree: the stacks that matter to a question, as a tree of calls with values.
 *
 * Made from the stack tree of a profile, a measure and a focus: only stacks with a value, inlined
 * frames as calls of their own, dropped frames left out, and each site moved to the innermost call
 * that is charged for it (neither the allocator itself nor, by default, std:: internals).
 *
 * Invariant: call 0 is the root and no frame; calls are in preorder, so parent[c] < c, the calls
 * below c follow it directly, and one backward pass adds up subtrees.
 *
 * Ownership: borrows the frame table; call_tree_release frees the rest.
 */
#ifndef TIDE_MODEL_CALLTREE_H
#define TIDE_MODEL_CALLTREE_H

#include <stdint.h>

#include "model/call_paths.h"
#include "model/measure.h"
#include "model/presets.h"

enum ignored_kind { IGNORED_PATTERN, IGNORED_SUPPRESSION, IGNORED_PRESET, IGNORED_KINDS };

/* A suppression that left something out. */
struct ignored_rule {
    const char *name;
    struct value value;
};

struct call_tree {
    const struct frame_table *frames;
    struct call_numbers parent;
    struct call_numbers frame; /* number in frames->frames; CALL_NONE for the root */
    struct call_numbers
        node; /* of the profile, that it is a frame of; 0 for the root and markers */
    struct call_paths *paths; /* kept ones from which its calls were picked; NULL: its own */
    uint32_t *path_call;      /* with `paths`: call -> call there, but for `markers` at the end */
    size_t markers;           /* calls that stand for stacks without a frame to list */
    struct value *own;        /* charged to this call itself */
    struct value *below; /* own and everything it called; of a native call below the Python call
                                 that is charged, everything it allocated */
    uint32_t
        *site_call, /* for each site of the profile the call that is charged; CALL_NONE: none */
        *site_leaf; /* and the innermost call that is not folded */
    bool by_max;
    struct value sum; /* of all that is in the tree */
    int64_t
        scale; /* what 100 % means: the sum without signs, so that differences have shares too */
    struct value ignored; /* all that was taken out by --ignore, suppressions and presets */
    struct value ignored_by[IGNORED_KINDS];
    struct value presets[PRESETS];       /* what each of them took out */
    VEC(struct ignored_rule) suppressed; /* what each suppression took out, in order of the lists */
    struct value outside;                /* taken out by --within or --thread */
};

/* Which call of a stack is charged: its innermost one that is not folded, or the innermost one of
 * Python, if it has any. */
enum charge { CHARGE_INNERMOST, CHARGE_PYTHON };

/* `also`: sites that have a value only there get a call, too, whose own value is zero; NULL: none.
 * -ENOENT: the focus names a thread that does not exist, or what no function of any stack matches.
 */
int call_tree_build(struct call_tree *t, struct frame_table *frames, const struct measure *m,
                    const struct measure *also, enum charge charge, struct err *err);
void call_tree_release(struct call_tree *t);

/*
 * Walks calls in preorder and tells when one is left, for counts of what is on the current path.
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

/* The next call to be left before `call` is entered, innermost first; CALL_NONE: `call` is entered
 * now. */
uint32_t call_walk_leave(struct call_walk *w, const struct call_tree *t, uint32_t call);

#endif
