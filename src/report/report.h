/*
 * report: an answer as text, JSON or CSV.
 *
 * All append to a strbuf and cannot fail; src/cli writes it out. JSON is exact and follows the
 * schema tidemark.report/1; fields may be added to it, never changed. Text is for people and may
 * change. Unknown files, lines and modules are null in JSON and empty in CSV.
 */
#ifndef TIDE_REPORT_REPORT_H
#define TIDE_REPORT_REPORT_H

#include "base/strbuf.h"
#include "model/answer.h"
#include "report/style.h"

/* `file` is the recording's path, for the command to try next. */
void report_text(const struct answer *a, const char *file, const struct style *s,
                 struct strbuf *out);
void report_json(const struct answer *a, struct strbuf *out);
void report_csv(const struct answer *a, struct strbuf *out);

#endif
