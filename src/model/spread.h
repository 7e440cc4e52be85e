/*
 * spread: how the value of a row is spread over the inputs of a merged recording.
 *
 * A spread belongs to what a row is about: a function with its library, a line, a stack with its
 * thread. This is hashed to a 64-bit key. A row of a merged recording has the same key as in a
 * report on each of the inputs. So the spread agrees with these reports: the largest value of a row
 * is what `tidemark report` shows for the input that the spread names.
 *
 * Spreads are kept for the tables of a report without options (SPREAD_GROUPINGS) and for the sum of
 * all rows. A question with filters gets the spread of a row only if the row has the same value as
 * without them; other questions get none.
 *
 * Ownership: spread_keys_release frees the hashes; everything else is borrowed.
 */
#ifndef TIDE_MODEL_SPREAD_H
#define TIDE_MODEL_SPREAD_H

#include "model/answer_rows.h"
#include "model/joined_tree.h"
#include "store/merge.h"

struct answer;

struct spread_keys {
    enum grouping by;
    uint64_t *of_node; /* by stack: for each node of the merged tree; otherwise NULL */
};

/* `merged`: by stack, the tree whose nodes the rows refer to; otherwise it may be NULL. */
void spread_keys_init(struct spread_keys *k, enum grouping by, const struct frame_table *frames,
                      const struct merged *merged);
void spread_keys_release(struct spread_keys *k);
uint64_t spread_key(const struct spread_keys *k, const struct answer_row *row);
/* The key of the sum of all rows. */
#define SPREAD_KEY_ALL UINT64_C(0x616c6c20726f7773)

/* Adds a value of another input, or another spread with other inputs. `before`: does the new input
 * come before the one that has the maximum so far? */
void spread_add(struct input_spread *s, const struct input_spread *other, bool by_max, bool before);

/* Sets the spreads of the rows of an answer, and of their sum, if its recording is merged. */
void spread_find(struct answer *a);

/* The minimum and the mean over all inputs; inputs without a value count as 0. */
int64_t spread_min(const struct input_spread *s, const struct merge *m);
int64_t spread_mean(const struct input_spread *s,
                    const struct merge *m); /* rounded to the nearest */

#endif
