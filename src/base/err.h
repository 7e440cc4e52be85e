/*
 * err: one sentence that says what went wrong.
 *
 * Functions that can fail return 0 or a negative errno value and fill a struct err with a full
 * sentence: what failed, on which file or process, and what to do about it. Only src/cli prints it.
 * A NULL struct err is allowed everywhere: the caller then only wants the code.
 */
#ifndef TIDE_BASE_ERR_H
#define TIDE_BASE_ERR_H

struct err {
    char text[512];
};

/* Fills e (may be NULL) and returns code, so that callers can write `return err_set(...)`. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Lack of memory in the tools cannot be handled in any useful way: prints a message and exits with
 * 125. */
void *must_alloc(void *p);
void *xmalloc(unsigned long size);
/* Allocates a table that is accessed at random. It begins at a cache line. From HUGE_PAGE on,
 * `size` must be a multiple of that, and the table is in huge pages if there are any. Free it with
 * free(). */
void *xtable(unsigned long size);
#define HUGE_PAGE (2ul << 20)
void *xcalloc(unsigned long count, unsigned long size);
void *xrealloc(void *p, unsigned long size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, unsigned long n);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
