/*
 * missing: what glibc declares and wasi-libc does not; included first in every file of the core.
 */
#ifndef TIDE_VIEW_CORE_MISSING_H
#define TIDE_VIEW_CORE_MISSING_H

#include <errno.h>
#include <regex.h>
#include <stddef.h>

#define ENODATA 61

void qsort_r(void *base, size_t count, size_t size,
             int (*compare)(const void *, const void *, void *), void *context);
char *realpath(const char *path, char *resolved);

/* Regular expressions have the same meaning as with glibc. */
#define regcomp glibc_regcomp
int glibc_regcomp(regex_t *regex, const char *pattern, int flags);

#endif
