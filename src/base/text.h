/*
 * text: questions about strings.
 */
#ifndef TIDE_BASE_TEXT_H
#define TIDE_BASE_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool text_begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Compares like strcmp; NULL is the empty string. */
static inline int text_compare(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

#endif
