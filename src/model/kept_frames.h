/*
 * kept_frames: frame tables of recordings that are held for many questions
 * (store/held_recordings.h).
 *
 * After a question, its table and the call paths built from it are kept, and the next question that
 * says the same about frames uses them again. If only --within and --ignore differ, only the flags
 * are set anew: names and paths stay. Other processes, folds or languages need other tables; the
 * last few are kept. Threads: one.
 */
#ifndef TIDE_MODEL_KEPT_FRAMES_H
#define TIDE_MODEL_KEPT_FRAMES_H

#include "model/frames.h"

/* What a table depends on, besides the profile and the patterns of --within and --ignore. The
 * caller frees it. NULL: the table cannot be kept. */
char *kept_frames_key(const struct recording *r, const struct stack_filter *f);
/* --within and --ignore as text, on which the flags of a table depend. The caller frees it. */
char *kept_frames_patterns(const struct stack_filter *f);
/* Takes a kept table that fits the filter; false: there is none. */
bool kept_frames_take(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct stack_filter *filter);
/* Takes ownership of a table that has a key. */
void kept_frames_give(struct frame_table *t);

#endif
