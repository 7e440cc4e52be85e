/*
 * findings: the short list as text, in sentences, JSON (tidemark.findings/1) and CSV.
 *
 * All append to a strbuf and cannot fail.
 */
#ifndef TIDE_ANSWER_FINDINGS_H
#define TIDE_ANSWER_FINDINGS_H

#include "analyse/findings_all.h"
#include "answer/report.h"
#include "answer/style.h"

/* What is the matter, in a few words; why it matters; what to do: one sentence each. */
void finding_title(const struct findings *f, const struct finding *n, struct strbuf *out);
void finding_why(const struct findings *f, const struct finding *n, struct strbuf *out);
void finding_do(const struct findings *f, const struct finding *n, struct strbuf *out);
/* The function it is about, as an argument of a command: quoted where a shell needs it. */
void finding_function(const struct findings *f, const struct finding *n, struct strbuf *out);
/* The function of a call, without what it takes. */
void place_function(const struct places *p, uint32_t call, struct strbuf *out);
/* " file.c:12" of a call, or its library; nothing if neither is known. */
void place_words(const struct places *p, uint32_t call, struct strbuf *out);
/* The same of a finding, and for which line of its user's where that is another function. */
void finding_place(const struct findings *f, const struct finding *n, struct strbuf *out);
/* function file:line < caller < caller: the way there in one line of at most `width` columns. */
void finding_path(const struct findings *f, const struct finding *n, size_t width,
                  struct strbuf *out);

/* The command that shows more of the first finding, without "next:"; there must be one. */
void findings_next(const struct findings_all *all, const char *file, struct strbuf *out);

#define FINDINGS_FULL 3 /* that are told with their reasons */

/* At most `most` of them; 0: all, the first few with their reasons. */
void findings_text(const struct findings_all *all, const char *file, size_t most,
                   const struct style *s, struct strbuf *out);
/* A line each, for the end of a run; nothing if there are none. */
void findings_brief(const struct findings_all *all, const char *file, size_t most,
                    struct strbuf *out);
void findings_json(const struct findings_all *all, size_t most, struct strbuf *out);
void findings_csv(const struct findings_all *all, size_t most, const struct report_sink *sink,
                  struct strbuf *out);

#endif
