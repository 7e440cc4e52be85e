/*
 * http: parses the head of a request to `tidemark view --serve`, and decides who may ask.
 *
 * Only what the page itself sends is understood: a method, a path, a token in the query, and the
 * headers Host, Origin and Content-Length. The bytes are not trusted. Texts point into them.
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
    size_t head; /* number of bytes before the body */
    size_t body; /* number of bytes in the body */
};

/* Returns 1: the head is complete; 0: more bytes are needed; or the status with which to refuse it
 * (400, 413, 431). */
int http_parse(const char *bytes, size_t size, struct http_request *out);

bool http_is(struct http_text text, const char *word);

/*
 * Returns 0: it may be answered; otherwise the status with which to refuse it. The token must be
 * the server's own. The host must be a name of this machine: otherwise a page of another site could
 * ask through a name that it makes point here. If the browser says which page asks, it must be
 * ours.
 */
int http_refused(const struct http_request *r, const char *token);

#endif
