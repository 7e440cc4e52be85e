/*
 * top: who holds memory now, and what changed in the last seconds, as text, JSON and CSV.
 */
#ifndef TIDE_ANSWER_TOP_H
#define TIDE_ANSWER_TOP_H

#include "analyse/top.h"
#include "answer/document.h"

struct document top_document(const struct top *t);
/* The lines above the table, for a screen: the process and its sums. */
void top_heading(const struct top *t, struct strbuf *out);

#endif
