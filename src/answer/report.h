/*
 * report: an answer as text, JSON or CSV. All functions append to a strbuf and cannot fail; src/cli
 * writes it out.
 *
 * report_columns.c has the columns, report_text.c what is around the table, summary.h the first
 * lines. Which rows there are, and their order, is decided by model/answer_rows.h.
 *
 * JSON is exact and follows the schema tidemark.report/1; fields may be added to it, never changed.
 * Text is for people and may change. Unknown files, lines and modules are null in JSON and empty in
 * CSV.
 */
#ifndef TIDE_ANSWER_REPORT_H
#define TIDE_ANSWER_REPORT_H

#include "base/strbuf.h"
#include "model/answer.h"
#include "answer/style.h"

/* Takes what is ready in the buffer and clears it, so that a million stacks need not fit in
 * memory. */
struct rows;
struct report_sink {
    void (*take)(void *context, struct strbuf *ready);
    void *context;
    void (*rows)(void *context, const struct rows *r); /* if set, receives tables instead of CSV */
};

/* `file` is the recording's path, for the suggested command. */
void report_text(const struct answer *a, const char *file, const struct style *s,
                 struct strbuf *out);
/* `sink` may be NULL: then everything stays in `out`. Otherwise the caller writes what is left in
 * `out` at the end. */
void report_json(const struct answer *a, const struct report_sink *sink, struct strbuf *out);
void report_csv(const struct answer *a, const struct report_sink *sink, struct strbuf *out);

/* What a metric's amounts and counts are called: "live bytes", "blocks". */
const char *report_metric_title(enum metric m);
const char *report_count_title(enum metric m);
const char *report_count_word(enum metric m); /* the singular: "block" */

#define REPORT_CHUNK (1u << 20)

static inline void report_flush(const struct report_sink *sink, struct strbuf *out)
{
    if (sink && sink->take && out->size >= REPORT_CHUNK)
        sink->take(sink->context, out);
}

#endif
