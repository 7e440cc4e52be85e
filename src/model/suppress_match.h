/*
 * suppress_match: which rule, if any, leaves a stack of a profile out.
 *
 * Rules come from up to three lists: those of the question, those kept in the recording, and the
 * presets; the first that matches counts. Each place is compared with each distinct frame at most
 * once. Rules that look for one frame anywhere (all of LeakSanitizer's) are settled per frame, the
 * presets for all stacks at once (suppress_states.h); for valgrind's the stack is climbed as far as
 * a rule needs.
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
    VEC(struct suppress_rule) rules; /* of all lists, those first that come first */
    size_t anywhere, climbing;       /* how many look for one frame; how many climb the stack */
    struct suppress_states states;   /* of the rest */
    VEC(uint32_t) of_frame;          /* frame -> the first rule that it matches anywhere */
    VEC(uint32_t) stack;             /* frames of `node`, innermost first, as far as known */
    uint32_t node, next_node;
    enum allocation allocation; /* of what is matched now */
    struct map objects;         /* own string of a base name -> module whose path it is */
};

struct suppress_rule {
    const struct suppression *rule;
    const struct place *places;
    uint8_t **known; /* for each place: what is known of each frame */
    size_t *known_count;
    bool is_anywhere, climbs, is_preset;
};

/* With nothing to match, `rules` is empty and the rest need not be called. */
void suppress_match_init(struct suppress_match *m, struct frame_table *frames);
void suppress_match_release(struct suppress_match *m);

/* The first rule that this frame alone satisfies, or SUPPRESS_NONE. */
uint32_t suppress_match_frame(struct suppress_match *m, uint32_t frame);
/* The first of the other rules that the stack of a node satisfies, if it comes before `rule`; else
 * `rule`. */
uint32_t suppress_match_stack(struct suppress_match *m, uint32_t node, enum allocation allocation,
                              uint32_t rule);

#endif
