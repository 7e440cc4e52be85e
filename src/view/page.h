/*
 * page: the HTML page of `tidemark view`, from the template and what it shows.
 *
 * An embedded page holds its recordings: with stored chunks (view/stored_recording.h), packed with
 * gzip, as base64. A served page holds none, and asks the server (view/serve.h). Everything that
 * comes from recordings or file names is base64, or JSON in which `<` is written as \u003c, so
 * nothing in it can end the element that holds it.
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
    bool serve; /* a server answers; else the page itself */
    bool live;  /* the recording still goes on */
    size_t files;
    const char *paths[PAGE_FILES];
    const char *limits;  /* what --limit found, a JSON array; or NULL */
    const char *sources; /* lines of sources, a JSON object; or NULL */
};

/* The name of a recording in its page, as commands there are given it: that of its file; where two
 * have the same, as they were given. It is UTF-8 and no option. The caller frees it. */
char *page_name(const struct page *p, size_t which);

/* 0; or negative and a sentence: a recording cannot be read, or is too large for a page. */
int page_make(const struct page *p, struct strbuf *out, struct err *err);

/* The policy that goes with it, for a header of HTTP too. */
void page_policy(const struct page *p, struct strbuf *out);

#endif
