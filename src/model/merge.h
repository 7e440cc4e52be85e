/*
 * merge: many recordings added up into one (tidemark merge).
 *
 * Recordings are added one at a time; each may be freed as soon as it was added. What stays in
 * memory is bounded by the distinct call paths, names and rows of all inputs, and one line for each
 * input. An input with several processes counts as all of them together
 * (model/combined_profile.h). An input that was merged itself contributes its own inputs.
 *
 * Code is matched by build id and address in the file; what has no build id, and Python, by the
 * names of its frames. If one input knows better names for an address than another, the better ones
 * are kept for all.
 *
 * The result does not depend on the order of inputs nor on how they were grouped: every figure is
 * a sum, a minimum, a maximum or a set, and everything is written in an order of its own. It has two
 * intervals: up to the moment when each input began to end (--at exit), and the rest. There are no
 * stamps, marks, mappings, nor times of threads: those belong to one run. The peak is the sum of the
 * peaks of all inputs, each at its own moment.
 *
 * Ownership: merging_free releases everything; merging_finish hands the recording to the caller.
 */
#ifndef TIDE_MODEL_MERGE_H
#define TIDE_MODEL_MERGE_H

#include "base/err.h"
#include "store/recording.h"

struct merging;

struct merging *merging_new(void);
void merging_free(struct merging *m); /* NULL is fine */

/* Adds a recording; `file` names it. -EEXIST: a recording of the same process was added before.
 * Other errors: it cannot be merged. After an error nothing of it was added. */
int merging_add(struct merging *m, struct recording *r, const char *file, struct err *err);
/* A sentence for the notes of the result: what is missing in it. */
void merging_note(struct merging *m, const char *text);
/* The result; NULL: nothing was added. Call it once. */
struct recording *merging_finish(struct merging *m);

#endif
