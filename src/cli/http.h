/*
 * http: one POST, by the libcurl of the system.
 *
 * The library is loaded when it is needed, so tidemark links nothing for it. Certificates and names
 * of servers are verified always. Redirections are not followed.
 *
 * Secrets: user, password and token go to the server only; no sentence has them.
 * Ownership: everything is borrowed for the call. Not from two threads.
 */
#ifndef TIDE_CLI_HTTP_H
#define TIDE_CLI_HTTP_H

#include <stddef.h>

#include "base/err.h"

struct http_post {
    const char *url;             /* without user and password */
    const char *user, *password; /* NULL: none */
    const char *token;           /* for "Authorization: Bearer"; NULL: none */
    const char *ca;              /* a file of certificates to trust; NULL: those of the system */
    const char *content_type;    /* of the body */
    const char *encoding;        /* how it is packed: "gzip"; NULL: that is the server's guess */
    const void *body;
    size_t size;
};

struct http_answer {
    long status;    /* 0: there was no answer */
    char text[201]; /* the beginning of its body, in one line */
};

/* 0: the server answered, whatever it said. -EAGAIN and a sentence: it could not be reached, or not
 * to the end; it may be there later. Other negative codes: to try again is of no use. */
int http_post(const struct http_post *post, struct http_answer *answer, struct err *err);

#endif
