/*
 * marks: the table of `tidemark marks` (tidemark.marks/1).
 */
#ifndef TIDE_ANSWER_MARKS_H
#define TIDE_ANSWER_MARKS_H

#include "model/mark_rows.h"
#include "answer/document.h"

struct document marks_document(const struct mark_rows *m);

#endif
