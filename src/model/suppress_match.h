/*
 * suppress_match: which rule, if any, leaves out a stack of a profile.
 *
 * Rules come from up to three lists: those of the question, those kept in the recording, and the
 * presets; the first that matches counts. Each place is compared with each distinct frame at most
 * once. Rules that look for one frame anywhere (all of LeakSanitizer's) are decided per frame, and
 * the presets for all stacks at once (suppress_states.h). For valgrind's rules the stack is climbed
 * as far as a rule needs.
 *
 * Ownership: borrows the frame table and the lists; suppress_match_release frees the rest. Not
 * thread-safe.
 */
#ifndef TIDE_MODEL_SUPPRESS_MATCH_H
#define TIDE_MODEL_SUPPRESS_MATCH_H

#include "model/frames.h"
#include "model/suppress.h"
#include "model/suppress_states.h"

#define SUPPRESS_NONE UINT32_MAX

struct suppress_match {
    struct frame_table *frames;
    VEC(struct suppress_rule) rules; /* the rules of all lists, in the order in which they count */
    /* Number of rules that look for one frame, and of rules that climb the stack. */
    size_t anywhere, climbing;
    struct suppress_states states; /* for the other rules */
    VEC(uint32_t) of_frame;        /* frame -> the first rule that it matches anywhere */
    VEC(uint32_t) stack; /* frames of `node`, innermost first, as far as they were needed */
    uint32_t node, next_node;
    enum allocation allocation; /* how the stack that is being matched allocated */
    struct map objects;         /* string of a base name -> module with that path */
};

struct suppress_rule {
    const struct suppression *rule;
    const struct place *places;
    uint8_t **known; /* for each place: what is known about each frame */
    size_t *known_count;
    bool is_anywhere, climbs, is_preset;
};

/* Prepares the rules. If there is nothing to match, `rules` is empty and the other functions need
 * not be called. */
void suppress_match_init(struct suppress_match *m, struct frame_table *frames);
void suppress_match_release(struct suppress_match *m);

/* The first rule that this frame alone matches, or SUPPRESS_NONE. */
uint32_t suppress_match_frame(struct suppress_match *m, uint32_t frame);
/* The first of the other rules that the stack of a node matches, if it comes before `rule`;
 * otherwise `rule`. */
uint32_t suppress_match_stack(struct suppress_match *m, uint32_t node, enum allocation allocation,
                              uint32_t rule);

#endif
