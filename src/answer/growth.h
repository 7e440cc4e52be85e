/*
 * growth: the answer of `tidemark growth` as text, in sentences, as JSON (tidemark.growth/1) and as
 * CSV. All functions append to a strbuf and cannot fail. growth_answer.c has the sentences of the
 * answer, growth_evidence.c those of --why, growth_text.c the order of the text, growth.c the
 * columns and JSON. What grows is decided by analyse/growth.h.
 */
#ifndef TIDE_ANSWER_GROWTH_H
#define TIDE_ANSWER_GROWTH_H

#include "analyse/growth.h"
#include "analyse/leaks.h"
#include "answer/report.h"
#include "answer/style.h"

struct sentences {
    VEC(char *) list;
};

/* The evidence for the verdict, one sentence each, or what is missing for a verdict. In
 * growth_evidence.c. */
void growth_evidence(const struct growth *g, struct sentences *out);
void sentences_release(struct sentences *s);
/* Why there is no verdict, and what to do. */
void growth_missing_words(const struct growth *g, struct strbuf *out);

/* The answer in one or two sentences. In growth_answer.c. */
void growth_answer(const struct growth *g, struct strbuf *out);
/* "RSS +6.7 KiB per event = 0.4 KiB lost + ...", with the time that it is about, unless that is the
 * whole run; false: RSS gained nothing. */
bool growth_account_words(const struct growth *g, bool with_time, struct strbuf *out);
/* The unit of rates: a mark's label, or "second". */
static inline const char *growth_per(const struct growth *g)
{
    return g->mark ? g->mark : "second";
}
/* All functions that gained: those that grow, then the others. */
static inline const struct growth_site *growth_site_at(const struct growth *g, size_t i)
{
    return i < g->sites.count ? &g->sites.items[i] : &g->other.items[i - g->sites.count];
}
/* "event 71", "12.5 s" */
void growth_moment(const struct growth *g, size_t k, struct strbuf *out);

/* Parts of the text: the sizes of the process, with all that is known about each if `why`;
 * functions. In growth.c. */
void growth_lines_text(const struct growth *g, bool why, const struct style *s, struct strbuf *out);
void growth_sites_text(const struct growth *g, size_t most, const struct style *s,
                       struct strbuf *out);
extern const char *const growth_line_titles[GROWTH_SHOWN];
/* What other processes lost: growth is about one. */
struct leak_others growth_others(const struct growth *g);

/* At most `most` functions; `why`: with the evidence, the series, the account and arrays. */
void growth_text(const struct growth *g, const char *file, size_t most, bool why,
                 const struct style *s, struct strbuf *out);
void growth_json(const struct growth *g, size_t most, struct strbuf *out);
/* The same functions as in JSON. */
void growth_csv(const struct growth *g, size_t most, const struct report_sink *sink,
                struct strbuf *out);

#endif
