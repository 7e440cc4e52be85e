/* library_path: where libtidemark.so is. */
#ifndef TIDE_CLI_LIBRARY_PATH_H
#define TIDE_CLI_LIBRARY_PATH_H

#include <stdbool.h>

#include "base/err.h"

/* Beside the program in a build folder, otherwise where it is installed, relative to the program.
 * NULL and a sentence: it cannot be read, or cannot be preloaded. The caller frees it. */
char *library_find(struct err *err);

#endif
