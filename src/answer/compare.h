/*
 * compare: what `tidemark compare` found, as text or JSON (tidemark.compare/1).
 *
 * Both append to a strbuf and cannot fail. `command` is the program with its arguments, ended by
 * NULL; `files` are the two recordings, NULL if they are not kept.
 */
#ifndef TIDE_ANSWER_COMPARE_H
#define TIDE_ANSWER_COMPARE_H

#include "model/compare.h"
#include "answer/report.h"

struct compare_frame {
    char *const *command;
    const char *const *files;
    const int *wait_statuses; /* alone, then of each copy */
};

void compare_text(const struct compare *c, const struct compare_frame *f, const struct style *s,
                  struct strbuf *out);
void compare_json(const struct compare *c, const struct compare_frame *f,
                  const struct report_sink *sink, struct strbuf *out);

#endif
