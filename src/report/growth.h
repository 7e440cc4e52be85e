/*
 * growth: the answer of `tidemark growth` as text and as JSON (tidemark.growth/1), in sentences.
 *
 * All append to a strbuf and cannot fail.
 */
#ifndef TIDE_REPORT_GROWTH_H
#define TIDE_REPORT_GROWTH_H

#include "analyse/growth.h"
#include "report/style.h"

struct sentences {
    VEC(char *) list;
};

/* What the verdict rests on, one sentence each; what is missing for one. growth_words.c */
void growth_evidence(const struct growth *g, struct sentences *out);
void sentences_release(struct sentences *s);
/* The verdict in a few words. */
void growth_title(const struct growth *g, struct strbuf *out);

/* At most `most` functions. */
void growth_text(const struct growth *g, const char *file, size_t most, const struct style *s,
                 struct strbuf *out);
void growth_json(const struct growth *g, size_t most, struct strbuf *out);

#endif
