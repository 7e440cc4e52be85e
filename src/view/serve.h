/*
 * serve: answers a page's questions over HTTP, to this machine alone.
 *
 * Each connection is answered by a forked child, which has what the server holds in memory as it
 * was at that moment; so a long answer holds up no other, and whatever goes wrong in one ends with
 * it. A child cannot open files.
 *
 *     GET  /?token=T          the page
 *     POST /ask?token=T       words, each ended by a NUL; what the command prints. X-Status is its
 * exit status, X-Message what it said on stderr, with %XX POST /refresh?token=T   the server takes
 * a new look at a running recording
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
    /* Runs a command, which prints to stdout and stderr; its exit status. In a child. */
    int (*ask)(char *words, size_t size);
    /* Takes a new look; 0, or negative and a sentence. NULL: there is nothing new to see. */
    int (*refresh)(void *context, struct err *err);
    void *context;
};

/* Opens the port: [HOST:]PORT or HOST, where HOST is of this machine; NULL: any port. 0, or
 * negative and a sentence: -EINVAL, the address is none of these. */
int serve_open(struct serve *s, const char *address, struct err *err);
/* Answers until the process gets SIGINT or SIGTERM. */
int serve_run(struct serve *s, struct err *err);

/* For `refresh`, which may have to wait for others: waits this long, or until a signal ends the
 * server. false: it is to end. */
bool serve_goes_on(unsigned wait_ms);

#endif
