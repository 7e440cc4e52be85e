/*
 * compare: the result of `tidemark compare` as text, JSON (tidemark.compare/1) or CSV. All
 * functions append to a strbuf and cannot fail. `command` is the program with its arguments, ended
 * by NULL; `files` are the two recordings, NULL if they are not kept.
 */
#ifndef TIDE_ANSWER_COMPARE_H
#define TIDE_ANSWER_COMPARE_H

#include "model/compare.h"
#include "answer/report.h"

struct compare_frame {
    char *const *command;
    const char *const *files;
    const int *wait_statuses; /* of the run alone, then of each copy */
};

void compare_text(const struct compare *c, const struct compare_frame *f, const struct style *s,
                  struct strbuf *out);
void compare_json(const struct compare *c, const struct compare_frame *f,
                  const struct report_sink *sink, struct strbuf *out);
void compare_csv(const struct compare *c, const struct report_sink *sink, struct strbuf *out);

/* The measure that decides the order of rows. */
static inline enum compare_measure compare_measure_of(const struct compare *c)
{
    return c->query->metric == METRIC_FAULTS ? COMPARE_FAULTS : COMPARE_CPU_NS;
}

/* The rows of the text, except by stack. In compare.c, like the parts of a row: */
void compare_table_text(const struct compare *c, const struct style *s, struct strbuf *out);
void compare_amount(struct strbuf *out, enum compare_measure m, double v);
void compare_change(struct strbuf *out, enum compare_measure m, struct compared v);
/* "1.30"; "~1.30" if that may be chance; "new" */
void compare_ratio(struct strbuf *out, struct compared v);
/* "1.10 - 1.52"; "1.10 -" has no upper bound */
void compare_bounds(struct strbuf *out, struct compared v);

#endif
