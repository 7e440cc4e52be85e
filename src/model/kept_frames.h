/*
 * kept_frames: frame tables of recordings that are held for many questions (store/held.h).
 *
 * A table, with the call paths made from it, is given back after a question and taken up by the
 * next one that says the same about frames. Where only --within and --ignore differ, its flags are
 * set anew: names and paths stay. Tables of other processes, folds or languages are others; the last
 * few are kept.
 *
 * Threads: one.
 */
#ifndef TIDE_MODEL_KEPT_FRAMES_H
#define TIDE_MODEL_KEPT_FRAMES_H

#include "model/frames.h"

/* What a table depends on besides the profile and the patterns of --within and --ignore; the caller
 * frees it. NULL: the table is not for the next question. */
char *kept_frames_key(const struct recording *r, const struct focus *f);
/* --within and --ignore as text, which the flags of a table are of; the caller frees it. */
char *kept_frames_patterns(const struct focus *f);
/* false: none fits. */
bool kept_frames_take(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct focus *focus);
/* Takes over a table that has a key. */
void kept_frames_give(struct frame_table *t);

#endif
