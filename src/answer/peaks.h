/*
 * peaks: numbered peaks as text, a legend, JSON (tidemark.peaks/1) and CSV.
 */
#ifndef TIDE_ANSWER_PEAKS_H
#define TIDE_ANSWER_PEAKS_H

#include "analyse/peaks.h"
#include "answer/style.h"

/* Nothing where the stacks add up to the peak; else how much of it they are, and when. */
void peak_listed_words(const struct peaks *p, const struct peak *k, struct strbuf *out);
/* "18: worker-6>main.py:44:run=>212992": number, thread, place of its largest stack, bytes; in
 * `most` columns if the function's name can be that short. */
void peak_legend(const struct peaks *p, const struct peak *k, size_t most, struct strbuf *out);
/* `options`: those that the list was asked for with, as tidemark tree takes them; "": none. */
void peaks_text(const struct peaks *p, const char *file, const char *options, size_t top,
                const struct style *s, struct strbuf *out);
void peaks_json(const struct recording *r, const struct peaks *p, struct strbuf *out);
void peaks_csv(const struct peaks *p, struct strbuf *out);

#endif
