/*
 * lsan_default_suppressions: the suppressions for LeakSanitizer that a program has built in: the
 * string that its function __lsan_default_suppressions returns.
 *
 * The function is not called. Its code is read from the program's file: nearly always it loads the
 * address of a string and returns. Files are opened as src/symbol opens them; nothing is executed.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_LSAN_DEFAULT_SUPPRESSIONS_H
#define TIDE_COLLECT_LEAKSCAN_LSAN_DEFAULT_SUPPRESSIONS_H

#include <stdbool.h>

#define LSAN_FUNCTION "__lsan_default_suppressions"

/* The suppressions of a program; NULL: it has none. *unread: it has some, but its code could not be
 * understood. The caller frees the result. */
char *lsan_default_suppressions(const char *path, bool *unread);

#endif
