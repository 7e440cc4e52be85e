/*
 * marks: the rows of `tidemark marks` as text, JSON (tidemark.marks/1) or CSV.
 *
 * All append to a strbuf and cannot fail. `sink` as in answer/report.h.
 */
#ifndef TIDE_ANSWER_MARKS_H
#define TIDE_ANSWER_MARKS_H

#include "model/mark_rows.h"
#include "answer/report.h"

void marks_text(const struct mark_rows *m, const struct style *s, struct strbuf *out);
void marks_json(const struct mark_rows *m, const struct report_sink *sink, struct strbuf *out);
void marks_csv(const struct mark_rows *m, const struct report_sink *sink, struct strbuf *out);

#endif
