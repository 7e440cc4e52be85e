/*
 * merge: adds up many recordings into one (tidemark merge).
 *
 * Recordings are added one at a time, and each may be freed as soon as it was added. Adding changes
 * a recording: its log is collapsed (model/merge_intervals.h), so that it cannot answer other
 * questions. Memory is bounded by the distinct call paths, names and rows of all inputs, and one
 * line for each input.
 *
 * An input with several processes counts as all of them together (model/combined_profile.h). A
 * merged input contributes its own inputs. Code is matched by build id and address in the file;
 * code without a build id, and Python, by the names of its frames. If one input has better names
 * for an address than another, these are used for all.
 *
 * The result does not depend on the order of inputs, nor on how they were grouped: every figure is
 * a sum, a minimum, a maximum or a set, and everything is written in a defined order. The result
 * has two intervals: up to the moment when each input began to end (--at exit), and the rest. It
 * has no stamps, marks, mappings, or times of threads, because those belong to one run. The peak is
 * the sum of the peaks of all inputs, each at its own moment.
 *
 * Ownership: merging_free releases everything; merging_finish passes the recording to the caller.
 */
#ifndef TIDE_MODEL_MERGE_H
#define TIDE_MODEL_MERGE_H

#include "base/err.h"
#include "store/recording.h"

struct merging;

struct merging *merging_new(void);
void merging_free(struct merging *m); /* accepts NULL */

/* Adds a recording; `file` is its name. -EEXIST: a recording of the same process was added before.
 * Other errors: it cannot be merged. After an error nothing of it was added. */
int merging_add(struct merging *m, struct recording *r, const char *file, struct err *err);
/* Adds a sentence to the notes of the result, to say what is missing in it. */
void merging_note(struct merging *m, const char *text);
/* The result; NULL: nothing was added. Call it once. */
struct recording *merging_finish(struct merging *m);

#endif
