/*
 * histogram: an answer's histograms as text with bars, as JSON and as CSV. All functions append to
 * a strbuf or a JSON writer and cannot fail.
 */
#ifndef TIDE_ANSWER_HISTOGRAM_H
#define TIDE_ANSWER_HISTOGRAM_H

#include "base/json.h"
#include "model/answer.h"
#include "answer/style.h"

/* Says in one line what the numbers are; then a table with a bar for each bucket. */
void histogram_heading(const struct answer *a, const struct style *s, struct strbuf *out);
void histogram_text(const struct answer *a, const struct spread *spread, const struct style *s,
                    struct strbuf *out);
/* Member histogram. */
void histogram_json(struct json *j, const struct histograms *h, const struct spread *spread);
/* Writes a line for each bucket, or the line of titles (NULL). Each line begins with `front`, which
 * ends with a comma unless it is empty. */
void histogram_csv(const struct histograms *h, const struct spread *spread, const char *front,
                   struct strbuf *out);

#endif
