/*
 * merge: what reports say about a merged recording: its inputs, how values are spread over them,
 * and which of them differ from the others. All functions append to a strbuf and cannot fail.
 */
#ifndef TIDE_ANSWER_MERGE_H
#define TIDE_ANSWER_MERGE_H

#include "answer/columns.h"
#include "answer/document.h"
#include "model/answer.h"
#include "store/merge.h"

/* Instead of how long a program ran: how many recordings these are, and how they ended. */
void merge_program_text(const struct profile *p, const struct style *s, struct strbuf *out);
/* "12.0 MiB in each of 4,096", "0 B to 3.1 GiB (rank 17), mean 12.0 MiB over 4,096"; for NULL, that
 * it is not known. */
void merge_spread_words(const struct merge *m, const struct input_spread *spread,
                        enum metric metric, struct strbuf *out);
/* Lines on how the metric is spread over the inputs; nothing if that is not known. */
void merge_spread_text(const struct answer *a, const struct style *s, struct strbuf *out);
/* Member "merged"; nothing for other recordings. */
void merge_json(struct json *j, const struct answer *a);

/* Columns of a row's spread. */
enum merge_column { MERGE_INPUTS, MERGE_MIN, MERGE_MAX, MERGE_WHERE, MERGE_MEAN };
/* `spread` may be NULL; `amount` is the row's value. */
struct cell merge_cell(const struct merge *m, const struct input_spread *spread, int64_t amount,
                       enum merge_column column);

/* The table of inputs. */
struct document merge_inputs_document(const struct profile *p);

#endif
