/*
 * http: the head of a request, as `tidemark view --serve` reads it, and who may ask.
 *
 * Only what the page itself sends is understood: a method, a path, a token in the query, and the
 * headers Host, Origin and Content-Length. Trusts nothing in the bytes. Texts point into them.
 */
#ifndef TIDE_VIEW_HTTP_H
#define TIDE_VIEW_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MOST (16u << 10)
#define HTTP_BODY_MOST (1u << 20)

struct http_text {
    const char *at; /* NULL: there is none */
    size_t size;
};

struct http_request {
    struct http_text method, path, token, host, origin;
    size_t head; /* bytes up to the body */
    size_t body; /* bytes of it that are to come */
};

/* 1: the head is whole; 0: more bytes are needed; or the status to refuse it with (400, 413, 431).
 */
int http_parse(const char *bytes, size_t size, struct http_request *out);

bool http_is(struct http_text text, const char *word);

/*
 * 0: it may be answered; else the status to refuse it with. The token must be the server's own; the
 * host must be a name of this machine itself, or a page of another site could ask through a name
 * that it makes point here; and where the browser says which page asks, it must be ours.
 */
int http_refused(const struct http_request *r, const char *token);

#endif
