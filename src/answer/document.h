/*
 * document: what a command prints, described once: a table, and what is above it.
 *
 *   struct document marks_document(const struct mark_rows *m);
 *
 * Text, JSON and CSV (rows_csv of its rows) follow from it. All functions append to a strbuf and
 * cannot fail. Ownership: everything is borrowed from the answer, which must outlive it.
 */
#ifndef TIDE_ANSWER_DOCUMENT_H
#define TIDE_ANSWER_DOCUMENT_H

#include "answer/columns.h"

struct document {
    const char *schema, *key; /* of JSON: "tidemark.marks/1", and the key of the table */
    struct rows rows;
    /* All callbacks receive rows.answer. This one writes what the text has above its table; false:
     * the text has no table. */
    bool (*text)(const void *answer, const struct style *s, struct strbuf *out);
    /* Write the members before and after the table; may be NULL. */
    void (*json)(const void *answer, struct json *j);
    void (*json_after)(const void *answer, struct json *j);
};

void document_text(const struct document *d, const struct style *s, struct strbuf *out);
void document_json(const struct document *d, const struct report_sink *sink, struct strbuf *out);

#endif
