/*
 * http: one POST request, by the system's libcurl.
 *
 * The library is loaded when it is needed, so tidemark does not link it. Certificates and names of
 * servers are always verified. Redirections are not followed. Secrets: user, password and token are
 * sent to the server only; no message contains them. Ownership: everything is borrowed for the
 * call. Not thread-safe.
 */
#ifndef TIDE_CLI_HTTP_H
#define TIDE_CLI_HTTP_H

#include <stddef.h>

#include "base/err.h"

struct http_post {
    const char *url;             /* without user and password */
    const char *user, *password; /* NULL: none */
    const char *token;           /* for "Authorization: Bearer"; NULL: none */
    const char *ca;              /* a file of trusted certificates; NULL: those of the system */
    const char *content_type;    /* of the body */
    const char *encoding;        /* its compression: "gzip"; NULL: none is stated */
    const void *body;
    size_t size;
};

struct http_answer {
    long status;    /* 0: there was no answer */
    char text[201]; /* the beginning of the body, in one line */
};

/* Returns 0 if the server answered, whatever it said. -EAGAIN and a sentence: the server could not
 * be reached, or the connection broke; try again later. Other negative codes: trying again is
 * useless. */
int http_post(const struct http_post *post, struct http_answer *answer, struct err *err);

#endif
