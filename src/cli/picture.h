/*
 * picture: writes what a command has drawn, to a file or to stdout.
 */
#ifndef TIDE_CLI_PICTURE_H
#define TIDE_CLI_PICTURE_H

#include "base/err.h"
#include "base/strbuf.h"
#include "cli/query_options.h"

/* For commands that draw instead of printing: -EINVAL and a sentence if JSON or CSV is asked for
 * too. */
int picture_alone(const char *option, enum output output, struct err *err);
/* `file` NULL or "-": stdout. Refuses to overwrite a recording. */
int picture_write(const char *file, const struct strbuf *bytes, struct err *err);

#endif
