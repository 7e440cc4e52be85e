/*
 * next: the parts of the command that a report ends with, to be copied into a shell as they are.
 *
 * All append to a strbuf.
 */
#ifndef TIDE_ANSWER_NEXT_H
#define TIDE_ANSWER_NEXT_H

#include "base/strbuf.h"
#include "model/query.h"

void next_word(struct strbuf *out, const char *word);
/* With a space before it; nothing if the argument is NULL. */
void next_option(struct strbuf *out, const char *option, const char *argument);
/* The options that say which stacks were asked for. */
void next_focus(struct strbuf *out, const struct focus *f);

#endif
