/*
 * page: makes the HTML page of `tidemark view` from the template and its contents.
 *
 * An embedded page contains its recordings: with stored chunks (view/stored_recording.h),
 * compressed with gzip, as base64. A served page contains none, and asks the server (view/serve.h).
 * Everything that comes from recordings or file names is base64, or JSON in which `<` is written as
 * \u003c, so nothing in it can end the element that contains it.
 */
#ifndef TIDE_VIEW_PAGE_H
#define TIDE_VIEW_PAGE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"

#define PAGE_FILES 2

struct page {
    const char *template;
    size_t template_size;
    bool serve; /* a server answers; otherwise the page itself */
    bool live;  /* the recording still runs */
    size_t files;
    const char *paths[PAGE_FILES];
    const char *limits;  /* the results of --limit, a JSON array; or NULL */
    const char *sources; /* lines of sources, a JSON object; or NULL */
};

/* The name of a recording in its page, which commands there use: the name of its file or, if two
 * have the same, the path as given. It is UTF-8 and cannot be taken for an option. The caller frees
 * it. */
char *page_name(const struct page *p, size_t which);

/* Returns 0; or a negative code and a sentence: a recording cannot be read, or is too large for a
 * page. */
int page_make(const struct page *p, struct strbuf *out, struct err *err);

/* The content security policy of the page, also for an HTTP header. */
void page_policy(const struct page *p, struct strbuf *out);

#endif
