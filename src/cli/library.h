/* library: where libtidemark.so is, and how it counts. */
#ifndef TIDE_CLI_LIBRARY_H
#define TIDE_CLI_LIBRARY_H

#include <stdbool.h>

#include "base/err.h"

/* Beside the program when run from a build, else where installation puts it, seen from the program;
 * NULL and a sentence: it cannot be read, or not be preloaded. Caller frees. */
char *library_find(struct err *err);

#endif
