/*
 * mark_scopes: the rows of `tidemark marks --scopes` as text, JSON (tidemark.scopes/1) or CSV.
 *
 * All append to a strbuf and cannot fail.
 */
#ifndef TIDE_ANSWER_MARK_SCOPES_H
#define TIDE_ANSWER_MARK_SCOPES_H

#include "model/mark_scopes.h"
#include "answer/style.h"
#include "base/strbuf.h"

void mark_scopes_text(const struct mark_scopes *s, const struct style *style, struct strbuf *out);
void mark_scopes_json(const struct mark_scopes *s, struct strbuf *out);
void mark_scopes_csv(const struct mark_scopes *s, struct strbuf *out);

#endif
