/*
 * document: what a command prints, described once: a table, and what stands above it.
 *
 *     struct document marks_document(const struct mark_rows *m);
 *
 * Text, JSON and CSV (rows_csv of its rows) follow from it. All append to a strbuf and cannot fail.
 *
 * Ownership: everything is borrowed from the answer, which must outlive it.
 */
#ifndef TIDE_ANSWER_DOCUMENT_H
#define TIDE_ANSWER_DOCUMENT_H

#include "answer/columns.h"

struct document {
    const char *schema, *key; /* of JSON: "tidemark.marks/1", and the member that is the table */
    struct rows rows;
    /* All are given rows.answer. What text has above its table; false: that is all of it. */
    bool (*text)(const void *answer, const struct style *s, struct strbuf *out);
    /* Members before and after the table; NULL: none. */
    void (*json)(const void *answer, struct json *j);
    void (*json_after)(const void *answer, struct json *j);
};

void document_text(const struct document *d, const struct style *s, struct strbuf *out);
void document_json(const struct document *d, const struct report_sink *sink, struct strbuf *out);

#endif
