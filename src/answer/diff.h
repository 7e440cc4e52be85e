/*
 * diff: the rows of `tidemark diff` as text, JSON (tidemark.diff/1) or CSV. All functions append to
 * a strbuf and cannot fail. `sink` as in answer/report.h. Text shows what differs; JSON and CSV
 * also have the rows that are the same. Which rows belong together, and their order, is decided by
 * model/diff.h; the columns are in diff_columns.c, the text in diff_text.c and diff_marks.c.
 */
#ifndef TIDE_ANSWER_DIFF_H
#define TIDE_ANSWER_DIFF_H

#include "base/json.h"
#include "model/diff.h"
#include "answer/report.h"

void diff_text(const struct diff *d, const struct style *s, struct strbuf *out);
void diff_json(const struct diff *d, const struct report_sink *sink, struct strbuf *out);
void diff_csv(const struct diff *d, const struct report_sink *sink, struct strbuf *out);

/* The rows of the text, except by stack. */
void diff_table_text(const struct diff *d, const struct style *s, struct strbuf *out);
/* "new", "gone", "changed", "same" */
const char *diff_status_name(enum diff_status s);

/* Live heap, RSS and VM at the marks that both recordings have; nothing if there are none. */
void diff_marks_text(const struct diff *d, const struct style *s, struct strbuf *out);
void diff_marks_json(const struct diff *d, struct json *j);

#endif
