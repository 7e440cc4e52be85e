/*
 * command: what all commands that print an answer share: how they fail, and where output goes.
 */
#ifndef TIDE_CLI_COMMAND_H
#define TIDE_CLI_COMMAND_H

#include "base/err.h"
#include "base/strbuf.h"
#include "answer/document.h"
#include "cli/query_options.h"

/* Writes long output to stdout piece by piece. */
extern const struct report_sink command_sink;

/*
 * Runs a command that asks one recording (NULL if it may be left out and is): takes its options,
 * prints its help or reads the recording, and returns the exit status. `answer` returns the exit
 * status too, or a negative code and a sentence, which is printed on stderr; -EINVAL for wrong
 * usage.
 */
int command_ask(int argc, char **argv, const struct query_command *command,
                int (*answer)(struct query_options *o, struct recording *r, struct err *err));

/* Prints the reason on stderr; returns `status`. */
int command_fail(const char *name, const struct err *err, int status);
/* Prints it in the format that was asked for. Returns the exit status. */
int command_write(const struct query_options *o, const struct document *d);
/* Writes the rest of the output and releases it. Returns the exit status: 1 if it could not be
 * written. */
int command_print(const char *name, struct strbuf *out);

#endif
