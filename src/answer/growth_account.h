/*
 * growth_account: the account of RSS in the answer of `tidemark growth`: a table of the first and
 * the last moment, the functions whose blocks keep pages, sentences, and JSON. All functions append
 * and cannot fail. Without an account they append nothing (JSON: empty arrays).
 */
#ifndef TIDE_ANSWER_GROWTH_ACCOUNT_H
#define TIDE_ANSWER_GROWTH_ACCOUNT_H

#include "analyse/growth.h"
#include "base/json.h"
#include "answer/style.h"

void growth_account_text(const struct growth *g, size_t most, const struct style *s,
                         struct strbuf *out);
/* Members account (rates), footprints and pinned. */
void growth_account_json(struct json *j, const struct growth *g, size_t most);
/* What the allocator keeps at the end, and what a trim would release. */
void growth_kept_words(const struct growth *g, struct strbuf *out);
/* Whose blocks keep pages that are mostly empty; false: nobody's. */
bool growth_pinned_words(const struct growth *g, struct strbuf *out);

#endif
