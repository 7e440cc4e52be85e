/*
 * push: sends a recording to Pyroscope's HTTP API, within the server's limits.
 *
 * What could not be sent is tried again a few times, and kept in a queue if there is one. What was
 * left out, dropped and sent is said on stderr.
 *
 * Ownership: strings are the caller's, but for the target's.
 */
#ifndef TIDE_CLI_PUSH_H
#define TIDE_CLI_PUSH_H

#include "base/vec.h"
#include "cli/push_target.h"
#include "model/query.h"
#include "store/recording.h"

#define PUSH_QUEUE_SIZE (64 << 20)
#define PUSH_RETRIES    4

struct push {
    struct push_target target;
    const char *name, *ca, *queue; /* NULL: not given */
    VEC(const char *) labels;      /* KEY=VALUE */
    int64_t queue_size;
    unsigned retries;
    bool quiet;  /* says nothing if all went well */
    bool silent; /* nor what was left out */
};

/* 0, or negative and a sentence: it was not sent. -EINVAL: the question is wrong. */
int push_recording(const struct push *w, struct recording *r, const struct query *q,
                   bool metric_given, struct err *err);

/* What is live at the end of a recording in a file. Sums since the start would be added up by a
 * server that gets several. */
int push_live(const struct push *w, const char *path, struct err *err);

/* The same of a recording as bytes, for session_options.push_snapshot; its context is a struct
 * push. */
int push_snapshot(void *context, const struct strbuf *bytes, struct err *err);

#endif
