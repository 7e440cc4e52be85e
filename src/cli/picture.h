/*
 * picture: writes what a command has drawn, to a file or to stdout.
 */
#ifndef TIDE_CLI_PICTURE_H
#define TIDE_CLI_PICTURE_H

#include "base/err.h"
#include "base/strbuf.h"

/* NULL or "-": stdout. */
int picture_write(const char *file, const struct strbuf *bytes, struct err *err);

#endif
