/*
 * growth: the answer of `tidemark growth` as text and as JSON (tidemark.growth/1), in sentences.
 *
 * All append to a strbuf and cannot fail.
 */
#ifndef TIDE_ANSWER_GROWTH_H
#define TIDE_ANSWER_GROWTH_H

#include "analyse/growth.h"
#include "answer/style.h"

struct sentences {
    VEC(char *) list;
};

/* What the verdict rests on, one sentence each; what is missing for one. growth_words.c */
void growth_evidence(const struct growth *g, struct sentences *out);
void sentences_release(struct sentences *s);
/* Why there is no verdict, and what to do. */
void growth_missing_words(const struct growth *g, struct strbuf *out);

/* The answer in one or two sentences. growth_answer.c */
void growth_answer(const struct growth *g, struct strbuf *out);
/* "RSS +6.7 KiB per event = 0.4 KiB lost + ..."; false: RSS gained nothing. */
bool growth_account_words(const struct growth *g, struct strbuf *out);
/* In words; "not explained" of GROWTH_PARTS. */
const char *growth_part_title(enum growth_part part);
/* "per event", "per second" */
void growth_unit(const struct growth *g, struct strbuf *out);
/* "event 71", "12.5 s" */
void growth_moment(const struct growth *g, size_t k, struct strbuf *out);

/* At most `most` functions; `why`: with the evidence, the series, the account and arrays. */
void growth_text(const struct growth *g, const char *file, size_t most, bool why,
                 const struct style *s, struct strbuf *out);
void growth_json(const struct growth *g, size_t most, struct strbuf *out);

#endif
