/*
 * realloc_chains: growing arrays as text and as JSON, for `growth` and `findings`. All functions
 * append to a strbuf and cannot fail.
 */
#ifndef TIDE_ANSWER_REALLOC_CHAINS_H
#define TIDE_ANSWER_REALLOC_CHAINS_H

#include "analyse/realloc_chains.h"
#include "base/json.h"
#include "answer/style.h"

/* The unit of work: a label and the number of its marks; NULL: none. */
struct chain_events {
    const char *mark;
    size_t count;
};

/* Says how much to reserve where, and what that saves. */
void chain_advice(const struct places *p, const struct chain *c, struct chain_events events,
                  struct strbuf *out);
/* Both write at most `most` of them. */
void chains_text(const struct places *p, const struct chains *c, struct chain_events events,
                 size_t most, const struct style *s, struct strbuf *out);
void chains_json(struct json *j, const struct places *p, const struct chains *c,
                 struct chain_events events, size_t most);

#endif
