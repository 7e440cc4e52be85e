#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int err_set(struct err *e, int code, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        vsnprintf(e->text, sizeof e->text, format, args);
        va_end(args);
    }
    return code;
}

void *must_alloc(void *p)
{
    if (!p) {
        static const char text[] = "tidemark: out of memory\n";
        ssize_t ignored = write(2, text, sizeof text - 1);
        (void)ignored;
        _exit(125);
    }
    return p;
}

/* A size of 0 gets one byte, so that NULL always means failure. */
void *xmalloc(unsigned long size)
{
    return must_alloc(malloc(size ? size : 1));
}

void *xtable(unsigned long size)
{
    void *p = must_alloc(aligned_alloc(size < HUGE_PAGE ? 64 : HUGE_PAGE, size));
    if (size >= HUGE_PAGE)
        /* Otherwise each random access would need a TLB entry of its own. */
        madvise(p, size, MADV_HUGEPAGE);
    return p;
}

void *xcalloc(unsigned long count, unsigned long size)
{
    return must_alloc(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, unsigned long size)
{
    return must_alloc(realloc(p, size ? size : 1));
}

char *xstrdup(const char *s)
{
    return must_alloc(strdup(s));
}

char *xstrndup(const char *s, unsigned long n)
{
    return must_alloc(strndup(s, n));
}

char *xasprintf(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return must_alloc(n < 0 ? NULL : text);
}
