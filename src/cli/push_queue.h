/*
 * push_queue: profiles that could not be sent, as files in a folder.
 *
 * The first line of a file has the path and query of the URL, the rest is the body; there is no
 * address and no secret. Names begin with the time of adding, so their order is that of the
 * profiles. The size of all files is limited; the oldest are dropped first. Several processes may
 * add at once; only one at a time sends.
 *
 * Ownership: push_queue_close and pushed_release free.
 */
#ifndef TIDE_CLI_PUSH_QUEUE_H
#define TIDE_CLI_PUSH_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* The beginning of a request to Pyroscope's API, and a request for OTLP. */
#define PUSH_INGEST "ingest?name="
#define PUSH_OTLP   "v1development/profiles"

struct push_queue {
    const char *folder;
    uint64_t max_bytes;
    int lock;          /* the folder, locked; -1: another process is sending */
    VEC(char *) files; /* paths, oldest first */
};

struct pushed {
    /* The part of the URL after the server: "ingest?name=app&from=1&until=2&format=pprof". */
    char *request;
    struct strbuf body;
};
void pushed_release(struct pushed *p);

/* Creates the folder if needed, and lists its contents unless another process is sending them
 * now. */
int push_queue_open(struct push_queue *q, const char *folder, uint64_t max_bytes, struct err *err);
void push_queue_close(struct push_queue *q);

/* -ENOENT: the file is gone. -EINVAL: it is not one of ours, or damaged. */
int push_queue_read(const char *file, struct pushed *out, struct err *err);
/* Adds a profile and removes the oldest ones beyond the limit; `dropped`: how many. -EFBIG: it
 * alone is above the limit, and was not added. */
int push_queue_add(const struct push_queue *q, const struct pushed *one, size_t *dropped,
                   struct err *err);

#endif
