/*
 * push: sends a recording to Pyroscope's HTTP API, or as OTLP, within the server's limits.
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

enum push_format { PUSH_AS_PPROF, PUSH_AS_OTLP };

struct push {
    struct push_target target;
    enum push_format format;
    const char *name, *ca, *queue; /* NULL: not given */
    VEC(const char *) labels;      /* KEY=VALUE */
    int64_t queue_size;
    unsigned retries;
    bool quiet;  /* says nothing if all went well */
    bool silent; /* nor what was left out */
};

/* 0, or negative and a sentence: it was not sent. -EINVAL: the question is wrong. -EAGAIN: it is
 * kept in the queue; -ENOSPC: the same, and older ones were dropped. */
int push_recording(const struct push *w, struct recording *r, const struct query *q,
                   bool metric_given, struct err *err);

/* What the queue has. 0: all of it is sent, or negative and a sentence. */
int push_kept(const struct push *w, struct err *err);

/* The folder of the queue for a server if none is named, in the user's cache; NULL: there is no home
 * to have it in. The caller frees it. */
char *push_default_queue(const struct push_target *target);

/* What is live at the end of a recording in a file. Sums since the start would be added up by a
 * server that gets several. */
int push_live(const struct push *w, const char *path, struct err *err);

/* The same of a recording as bytes, for session_options.push_snapshot; its context is a struct push.
 * What is kept in the queue is no failure; -ENOSPC: older ones were dropped from it. */
int push_snapshot(void *context, const struct strbuf *bytes, struct err *err);

#endif
