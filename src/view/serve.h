/*
 * serve: answers a page's questions over HTTP, to this machine only.
 *
 * Each connection is answered by a forked child, which has the server's memory as it was at that
 * moment. So a long answer delays no other, and whatever goes wrong in one ends with its child. A
 * child cannot open files.
 *
 *     GET  /?token=T          the page
 *     POST /ask?token=T       the body is words, each ended by a NUL; the answer is what the
 *                             command prints. X-Status is its exit status, X-Message what it
 *                             printed on stderr, with %XX
 *     POST /refresh?token=T   the server reads the present state of a running recording
 *
 * Everything else, and everyone without the token, is refused (view/http.h).
 */
#ifndef TIDE_VIEW_SERVE_H
#define TIDE_VIEW_SERVE_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"

#define SERVE_TOKEN 32 /* hexadecimal digits */

struct serve {
    int fd;           /* listens */
    char address[64]; /* "127.0.0.1:4711" */
    char token[SERVE_TOKEN + 1];
    const char *page, *policy;
    size_t page_size;
    /* Runs a command, which prints to stdout and stderr; returns its exit status. Called in a
     * child. */
    int (*ask)(char *words, size_t size);
    /* Reads the present state of a running recording. Returns 0, or a negative code and a sentence.
     * NULL: the recording does not change. */
    int (*refresh)(void *context, struct err *err);
    void *context;
};

/* Opens the port: [HOST:]PORT or HOST, where HOST is of this machine; NULL: any port. Returns 0, or
 * a negative code and a sentence; -EINVAL: the address is none of these. */
int serve_open(struct serve *s, const char *address, struct err *err);
/* Answers until the process receives SIGINT or SIGTERM. */
int serve_run(struct serve *s, struct err *err);

/* For `refresh`, which may have to wait for others: waits this long, or until a signal ends the
 * server. false: the server is to end. */
bool serve_keeps_waiting(unsigned wait_ms);

#endif
