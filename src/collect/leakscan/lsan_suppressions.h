/*
 * lsan_suppressions: the suppressions that a program has for LeakSanitizer inside it, as the text
 * that its function __lsan_default_suppressions returns.
 *
 * The function is not called: it is read in the program's file, where it is nearly always one
 * address of a text and a return. Files are opened as src/symbol opens them; nothing is executed.
 */
#ifndef TIDE_COLLECT_LEAKSCAN_LSAN_SUPPRESSIONS_H
#define TIDE_COLLECT_LEAKSCAN_LSAN_SUPPRESSIONS_H

#include <stdbool.h>

#define LSAN_FUNCTION "__lsan_default_suppressions"

/* NULL: the program has none. *unread: it has, and what it returns could not be told. Caller frees.
 */
char *lsan_suppressions(const char *path, bool *unread);

#endif
