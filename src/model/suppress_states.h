/*
 * suppress_states: which of many rules a stack matches, computed for all rules and all stacks at
 * once.
 *
 * There are some eighty presets, and stacks share their outer parts. Whether the places of a rule
 * from the k-th on match a stack depends on the stack's innermost frame, and on which tails of the
 * rule match the rest of the stack. So a stack has a state: the set of all tails of rules that
 * match it. Frames that match the same places are of one class. The state of a node then follows
 * from its parent's state and the classes of its own frames. States, classes and steps are few, and
 * are computed when they are first met; a node takes one step per frame.
 *
 * Ownership: {0} is empty; borrows the frame table and the places; suppress_states_release frees
 * the rest. Not thread-safe.
 */
#ifndef TIDE_MODEL_SUPPRESS_STATES_H
#define TIDE_MODEL_SUPPRESS_STATES_H

#include "model/frames.h"
#include "model/suppress_frame.h"

struct suppress_states {
    struct frame_table *frames;
    const struct map *objects;      /* string of a base name -> module with that path */
    VEC(struct state_place) places; /* the places of all rules, one rule after the other */

    VEC(uint64_t) sets; /* sets of places, `words` each: the distinct states and classes */
    VEC(uint32_t) set_next;
    struct map set_index;
    size_t words;

    struct map rule_of;     /* state -> the first rule that matches */
    struct map steps;       /* (state, class) -> state */
    struct map of_object;   /* string of a base name -> set of places that can be in it */
    VEC(uint32_t) class_of; /* frame -> class */
    uint32_t *state_of;     /* node -> state */
    uint32_t empty;         /* the state of a stack without frames */
    VEC(uint32_t) to_do;    /* nodes, the innermost first */
};

struct state_place {
    const struct place *place;
    uint32_t rule;     /* the caller's number */
    bool begins, ends; /* the place is the first, or the last, of its rule */
};

/* Adds a rule. Rules must be added in the order in which they count. */
void suppress_states_add(struct suppress_states *s, const struct place *places, uint32_t count,
                         uint32_t rule);
/* Prepares the states. Call it when all rules are added. */
void suppress_states_init(struct suppress_states *s, struct frame_table *frames,
                          const struct map *objects);
/* The first rule that the stack of a node matches, or UINT32_MAX. */
uint32_t suppress_states_rule(struct suppress_states *s, uint32_t node);
/* A frame as it is compared with suppressions. */
struct place_subject suppress_subject(const struct frame_table *t, const struct map *objects,
                                      uint32_t frame);
void suppress_states_release(struct suppress_states *s);

#endif
