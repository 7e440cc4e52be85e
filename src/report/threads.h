/*
 * threads: the lines of analyse/timelines.h as text, JSON (tidemark.threads/1) and CSV.
 */
#ifndef TIDE_REPORT_THREADS_H
#define TIDE_REPORT_THREADS_H

#include "analyse/timelines.h"
#include "report/style.h"

void threads_text(const struct timelines *t, size_t top, const struct style *s, struct strbuf *out);
void threads_json(const struct recording *r, const struct timelines *t, struct strbuf *out);
void threads_csv(const struct timelines *t, struct strbuf *out);

#endif
