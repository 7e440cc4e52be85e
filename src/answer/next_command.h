/*
 * next_command: the parts of the command that a report suggests at its end, ready to be copied into
 * a shell. All functions append to a strbuf.
 */
#ifndef TIDE_ANSWER_NEXT_COMMAND_H
#define TIDE_ANSWER_NEXT_COMMAND_H

#include "base/strbuf.h"
#include "model/query.h"

/* Appends the name of a file. One that begins with a dash would be read as an option: it gets "./"
 * before it. */
void next_file(struct strbuf *out, const char *file);
/* Appends a space, the option and its argument; nothing if the argument is NULL. */
void next_option(struct strbuf *out, const char *option, const char *argument);
/* The options that select the stacks of the question. */
void next_filter(struct strbuf *out, const struct stack_filter *f);

#endif
