/*
 * leaks: the result of analyse/leaks.h as text, JSON (tidemark.leaks/1) or CSV. All functions
 * append to a strbuf and cannot fail. `sink` as in answer/report.h.
 */
#ifndef TIDE_ANSWER_LEAKS_H
#define TIDE_ANSWER_LEAKS_H

#include "analyse/leaks.h"
#include "base/json.h"
#include "answer/report.h"

/* `file` is the recording's path, for the suggested command. */
void leaks_text(const struct leaks *l, const char *file, const struct style *s, struct strbuf *out);
void leaks_json(const struct leaks *l, const struct report_sink *sink, struct strbuf *out);
void leaks_csv(const struct leaks *l, const struct report_sink *sink, struct strbuf *out);

/* CPython's arenas for small objects that are live at the moment of the scan. Reports count them as
 * live memory; no block is inside. */
struct value leaks_arenas(const struct leaks *l);

/* Member others: what other processes lost. */
void leak_others_json(struct json *j, struct leak_others o);

#endif
