/*
 * history: the runs of a history, with what changed from each to the next, as text, JSON and CSV.
 */
#ifndef TIDE_ANSWER_HISTORY_H
#define TIDE_ANSWER_HISTORY_H

#include "answer/document.h"
#include "model/history.h"

/* `after` writes further members of the JSON; may be NULL. */
struct document history_document(const struct history *h,
                                 void (*after)(const void *history, struct json *j));

#endif
