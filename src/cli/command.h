/*
 * command: what commands that print an answer have in common: how they fail, and where output goes.
 */
#ifndef TIDE_CLI_COMMAND_H
#define TIDE_CLI_COMMAND_H

#include "base/err.h"
#include "base/strbuf.h"
#include "answer/report.h"

/* Long output goes to stdout piece by piece. */
extern const struct report_sink command_sink;

/* Says why on stderr; returns `status`. */
int command_fail(const char *name, const struct err *err, int status);
/* Writes the rest of the output and releases it; the exit status: 1 if it could not be written. */
int command_print(const char *name, struct strbuf *out);

#endif
