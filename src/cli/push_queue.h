/*
 * push_queue: profiles that could not be sent, in files of a folder.
 *
 * A file has the path and question of the URL in its first line and the body behind it; no address
 * and no secret. Names begin with the time of adding, so their order is that of the profiles. All files
 * together are bounded; the oldest go first. Several processes may add at once; one at a time sends.
 */
#ifndef TIDE_CLI_PUSH_QUEUE_H
#define TIDE_CLI_PUSH_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* What requests of Pyroscope's API begin with, and what those of OTLP are. */
#define PUSH_INGEST "ingest?name="
#define PUSH_OTLP   "v1development/profiles"

struct push_queue {
    const char *folder;
    uint64_t max_bytes;
    int lock;          /* the folder, locked; -1: another process sends */
    VEC(char *) files; /* paths, oldest first */
};

struct pushed {
    char *request; /* behind the URL: "ingest?name=app&from=1&until=2&format=pprof" */
    struct strbuf body;
};
void pushed_release(struct pushed *p);

/* Makes the folder if need be, and lists what it holds unless another process sends that now. */
int push_queue_open(struct push_queue *q, const char *folder, uint64_t max_bytes, struct err *err);
void push_queue_close(struct push_queue *q);

/* -ENOENT: it is gone. -EINVAL: it is not one of ours, or damaged. */
int push_queue_read(const char *file, struct pushed *out, struct err *err);
/* Adds one and removes the oldest beyond the limit; `dropped`: how many. -EFBIG: it alone is above
 * the limit, and was not added. */
int push_queue_add(const struct push_queue *q, const struct pushed *one, size_t *dropped,
                   struct err *err);

#endif
