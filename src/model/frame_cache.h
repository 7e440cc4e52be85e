/*
 * frame_cache: frame tables of recordings that are held for many questions
 * (store/held_recordings.h).
 *
 * After a question, its table and the call paths built from it are kept, and the next question that
 * says the same about frames uses them again. If only --within and --ignore differ, only the flags
 * are set anew: names and paths stay. Other processes, folds or languages need other tables; the
 * last few are kept. Threads: one.
 */
#ifndef TIDE_MODEL_FRAME_CACHE_H
#define TIDE_MODEL_FRAME_CACHE_H

#include "model/frames.h"

/* What a table depends on, besides the profile and the patterns of --within and --ignore. The
 * caller frees it. NULL: the table cannot be kept. */
char *frame_cache_key(const struct recording *r, const struct stack_filter *f);
/* --within and --ignore as text, on which the flags of a table depend. The caller frees it. */
char *frame_cache_patterns(const struct stack_filter *f);
/* Takes a kept table that fits the filter; false: there is none. */
bool frame_cache_take(struct frame_table *t, const struct recording *r, const struct profile *p,
                      const struct stack_filter *filter);
/* Takes ownership of a table that has a key. */
void frame_cache_give(struct frame_table *t);

#endif
