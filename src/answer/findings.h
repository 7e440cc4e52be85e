/*
 * findings: the short list as text, in sentences, JSON (tidemark.findings/1) and CSV. All functions
 * append to a strbuf and cannot fail. What is found, and its order, is decided by
 * analyse/findings.h.
 */
#ifndef TIDE_ANSWER_FINDINGS_H
#define TIDE_ANSWER_FINDINGS_H

#include "analyse/findings_all.h"
#include "answer/report.h"
#include "answer/style.h"

/* What the problem is, in a few words; why it matters; what to do: one sentence each. */
void finding_title(const struct findings *f, const struct finding *n, struct strbuf *out);
void finding_why(const struct findings *f, const struct finding *n, struct strbuf *out);
void finding_do(const struct findings *f, const struct finding *n, struct strbuf *out);
/* The function that it is about, as an argument of a command, quoted if a shell needs it. */
void finding_function(const struct findings *f, const struct finding *n, struct strbuf *out);
/* The function of a call, without its arguments. */
void place_function(const struct places *p, uint32_t call, struct strbuf *out);
/* " file.c:12" of a call, or its library; nothing if neither is known. */
void place_words(const struct places *p, uint32_t call, struct strbuf *out);
/* The same for a finding, and the user's own line if that is in another function. */
void finding_place(const struct findings *f, const struct finding *n, struct strbuf *out);
/* "function file:line < caller < caller": its call path in one line of at most `width` columns. */
void finding_path(const struct findings *f, const struct finding *n, size_t width,
                  struct strbuf *out);

/* The command that shows more of the first finding, without "next:"; there must be a finding. */
void findings_next(const struct findings_all *all, const char *file, struct strbuf *out);

#define FINDINGS_FULL 3 /* how many are shown with their reasons */

/* At most `most` of them, or 0 for all; the first few with their reasons. */
void findings_text(const struct findings_all *all, const char *file, size_t most,
                   const struct style *s, struct strbuf *out);
/* One line for each, for the end of a run; nothing if there are none. */
void findings_brief(const struct findings_all *all, const char *file, size_t most,
                    struct strbuf *out);
void findings_json(const struct findings_all *all, size_t most, struct strbuf *out);
void findings_csv(const struct findings_all *all, size_t most, const struct report_sink *sink,
                  struct strbuf *out);

#endif
