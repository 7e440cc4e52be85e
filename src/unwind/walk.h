/*
 * walk: unwinds the stack of this thread, and reuses the part that has not changed since the last
 * walk.
 *
 * The walk caches the last stack: for each frame its state (pc, sp, fp) and every word that was
 * read from memory to get to the caller. The state of a frame and these words alone determine its
 * caller. So if a new walk reaches a frame whose state equals a cached one's, and every word read
 * from there outwards still has the cached value, then the rest of the stack is the cached rest.
 * Verifying this takes one load and one comparison per frame.
 *
 * The frame pointer is passed through many frames that never use it. Whether its value matters to
 * any outer frame is known when a frame is cached (`fp_matters`); if its value does not matter,
 * neither the fp nor the slots where it is saved are compared.
 *
 * Allocations often alternate between a few places below one function. So the innermost frames of
 * recent stacks are kept as leaves: their words, the cached frame below them, and the id. If the
 * words of a leaf are unchanged, and so is the cached frame below, the leaf gives the whole stack
 * at once.
 *
 * A frame that needs the slow path (slow_step.h) may depend on more registers and words than are
 * cached: a signal frame, for example, depends on the stack pointer of the interrupted code. The
 * next walk does not reuse this frame or the frames that it called; it reuses the frames further
 * out.
 *
 * Not thread-safe: one struct walk per thread. [malloc-free]; memory comes from the caller, zeroed.
 */
#ifndef TIDE_UNWIND_WALK_H
#define TIDE_UNWIND_WALK_H

#include <assert.h>
#include <stdbool.h>

#include "unwind/rule.h"

#define WALK_FRAMES 16384 /* deeper stacks lose their outer frames */
#define WALK_NO_END (UINT64_C(1) << ARCH_ADDRESS_BITS)

struct walk_frame {
    uint64_t address; /* return address, module epoch in the high 16 bits */
    uint64_t sp, fp;  /* as they are in this frame */
    uint64_t id; /* set by the caller of this module: identifies the stack from here outwards */
    uint32_t reads : 31,
        fp_matters : 1; /* reads: number of words remembered up to and including this frame */
};

struct walk_read {
    uint64_t address, value;
};

/* Number of words that are compared together. Before the first word there are as many that never
 * change. */
#define WALK_READ_GROUP 4

#define WALK_LEAF_SETS  128
#define WALK_LEAF_WAYS  4 /* an allocation wrapper has one pc and sp, but many callers */
#define WALK_LEAF_READS 10

/* The innermost frames of a recent stack. The first cache line is mostly enough to see that it is
 * another stack; the second has most of the rest. */
struct walk_leaf {
    _Alignas(64) uint64_t pc; /* 0: this leaf is empty */
    uint64_t sp, fp;          /* of the innermost frame */
    uint64_t id;              /* identifies the whole stack */
    uint32_t note; /* set by the caller of this module for the whole stack; 0 in a new leaf */
    uint32_t base; /* frames[base] is the frame below the leaf */
    uint8_t reads; /* number of words, always even: the last word may be there twice */
    bool fp_matters;
    uint16_t offset[WALK_LEAF_READS]; /* distance of each word from sp, in words; innermost first */
    uint64_t base_sp, base_fp, base_id;
    uint64_t value[WALK_LEAF_READS];
};

static_assert(WALK_LEAF_READS % 2 == 0, "they are compared in pairs");

struct walk_leaf_set {
    struct walk_leaf way[WALK_LEAF_WAYS];
};

/* A frame just walked, innermost first, before it is remembered. */
struct walk_step {
    uint64_t address, sp, fp;
    uint64_t return_slot, return_value; /* slot 0: nothing was read */
    uint64_t fp_slot, fp_value;
    uint64_t deref_slot, deref_value;
    bool uses_fp;
};

enum walk_root {
    WALK_WHOLE,     /* the outermost frame is the thread's first */
    WALK_TRUNCATED, /* outer frames were left out: too deep */
    WALK_INCOMPLETE /* outer frames could not be found */
};

struct walk {
    struct walk_frame *frames;    /* [WALK_FRAMES], outermost first */
    struct walk_read *reads;      /* [WALK_FRAMES * 3]; before them WALK_READ_GROUP more */
    struct walk_step *steps;      /* [WALK_FRAMES] */
    struct walk_leaf_set *leaves; /* [WALK_LEAF_SETS] */
    struct call_site *sites;      /* [CALL_SITES], for code without unwind information */
    uint32_t count;
    uint32_t trusted; /* the next walk may use frames[0..trusted) */
    uint32_t fresh;   /* after walk_stack: frames[fresh..count) are new and need an id */
    enum walk_root root;
    uint64_t stack_end; /* the stack is below this; WALK_NO_END: not known */
    /* All memory up to stack_end is mapped, so guesses need no check. */
    bool stack_sure;
    bool any_leaf;                  /* false: all leaves are empty */
    bool any_site;                  /* false: `sites` is empty */
    uint64_t walked, verified;      /* frames, for statistics */
    uint8_t victim[WALK_LEAF_SETS]; /* the way of a set that is replaced next */
};

#define WALK_BYTES                                                                                 \
    (WALK_FRAMES *                                                                                 \
         (sizeof(struct walk_frame) + 3 * sizeof(struct walk_read) + sizeof(struct walk_step)) +   \
     WALK_READ_GROUP * sizeof(struct walk_read) + WALK_LEAF_SETS * sizeof(struct walk_leaf_set) +  \
     CALL_SITES * sizeof(struct call_site))

/* Initialises a walk. `memory` has WALK_BYTES, is zeroed, and begins at a multiple of 64. */
void walk_init(struct walk *w, void *memory);

static inline struct walk_leaf_set *walk_leaves(const struct walk *w, uint64_t pc, uint64_t sp)
{
    uint64_t hash = (pc ^ sp << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return &w->leaves[hash >> 57];
}
static_assert(WALK_LEAF_SETS == 1 << (64 - 57), "walk_leaves takes that many bits of the hash");

/* Prefetches the cache lines that walk_leaf_find and walk_stack will need, while there is other
 * work to do. */
static inline __attribute__((always_inline)) void
walk_prefetch(const struct walk *w, const struct rules *rules, uint64_t pc, uint64_t sp)
{
    const struct walk_leaf_set *set = walk_leaves(w, pc, sp);
    for (unsigned i = 0; i < WALK_LEAF_WAYS; i++)
        __builtin_prefetch(&set->way[i]);
    rule_prefetch(rules, pc);
}

/* A word of a stack, whatever it is there for. */
typedef uint64_t __attribute__((may_alias)) walk_word;

static inline uint64_t walk_load(uint64_t address)
{
    return *(const walk_word *)(uintptr_t)address;
}

/*
 * Which of the first `count` cached words has changed: the innermost such word's index + 1; 0:
 * none. It goes from the innermost outwards, one by one: an unchanged word proves that the next
 * one's address is on this very stack. In the other order, words of a stack that no longer exists
 * (a coroutine's that was unmapped) would be read.
 */
static inline uint32_t walk_changed(const struct walk_read *reads, uint32_t count)
{
    const struct walk_read *r = reads + count;
    static_assert(WALK_READ_GROUP == 4, "as many are compared in turn");
    for (; r > reads; r -= 4) {
        if (__builtin_expect(walk_load(r[-1].address) != r[-1].value, 0))
            return (uint32_t)(r - reads);
        if (__builtin_expect(walk_load(r[-2].address) != r[-2].value, 0))
            return (uint32_t)(r - reads) - 1;
        if (__builtin_expect(walk_load(r[-3].address) != r[-3].value, 0))
            return (uint32_t)(r - reads) - 2;
        if (__builtin_expect(walk_load(r[-4].address) != r[-4].value, 0))
            return (uint32_t)(r - reads) - 3;
    }
    return 0;
}

static inline __attribute__((always_inline)) bool walk_leaf_holds(const struct walk *w,
                                                                  const struct walk_leaf *l,
                                                                  uint64_t pc, uint64_t sp,
                                                                  uint64_t fp)
{
    if (l->pc != pc || l->sp != sp || (l->fp_matters && l->fp != fp))
        return false;
    /* The innermost first: they differ most. */
    const walk_word *stack = (const walk_word *)(uintptr_t)sp;
    for (uint32_t i = 0; i < l->reads; i += 2)
        if (stack[l->offset[i]] != l->value[i] || stack[l->offset[i + 1]] != l->value[i + 1])
            return false;
    if (l->base >= w->trusted)
        return false;
    const struct walk_frame *base = &w->frames[l->base];
    return base->id == l->base_id && base->sp == l->base_sp &&
           (!base->fp_matters || base->fp == l->base_fp) && !walk_changed(w->reads, base->reads);
}

/* Finds the leaf for this stack, if there is one and all its words are unchanged; NULL: there is
 * none. */
static inline __attribute__((always_inline)) struct walk_leaf *
walk_leaf_find(const struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct walk_leaf_set *set = walk_leaves(w, pc, sp);
    for (struct walk_leaf *l = set->way; l < set->way + WALK_LEAF_WAYS; l++)
        if (walk_leaf_holds(w, l, pc, sp, fp))
            return l;
    return NULL;
}

/* Keeps the stack as a leaf; NULL: this is not possible. Call it after walk_stack, when the
 * innermost frame has its id. */
struct walk_leaf *walk_keep_leaf(struct walk *w);

/*
 * Updates frames[] for a function that was called from `pc` (a return address), whose caller has
 * this sp (after the return) and fp. Afterwards count > 0, and frames[fresh..count) need an id.
 */
void walk_stack(struct walk *w, struct rules *rules, const struct unwind_space *space, uint64_t pc,
                uint64_t sp, uint64_t fp);

/* Forgets the stack, the leaves and the call sites: code was unloaded. */
void walk_forget(struct walk *w);
void walk_forget_notes(struct walk *w); /* clears the notes of all leaves; the leaves stay */

#endif
