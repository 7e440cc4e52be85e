/*
 * threads: the lines of analyse/threads.h as text, JSON (tidemark.threads/1) and CSV.
 */
#ifndef TIDE_ANSWER_THREADS_H
#define TIDE_ANSWER_THREADS_H

#include "analyse/threads.h"
#include "answer/style.h"

void threads_text(const struct threads *t, size_t top, const struct style *s, struct strbuf *out);
void threads_json(const struct recording *r, const struct threads *t, struct strbuf *out);
void threads_csv(const struct threads *t, struct strbuf *out);

#endif
