/*
 * push: sends a recording to Pyroscope's HTTP API, or as OTLP, within the server's limits. If
 * sending fails, it is tried again a few times, and then kept in a queue if there is one. What was
 * left out, dropped and sent is reported on stderr. Ownership: strings are the caller's, except the
 * target's.
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
    bool quiet;  /* print nothing if everything went well */
    bool silent; /* do not print what was left out either */
};

/* Returns 0, or a negative code and a sentence: it was not sent. -EINVAL: the question is wrong.
 * -EAGAIN: it is kept in the queue; -ENOSPC: the same, and older ones were dropped. */
int push_recording(const struct push *w, struct recording *r, const struct query *q,
                   bool metric_given, struct err *err);

/* Sends the contents of the queue. Returns 0 if all of it is sent, or a negative code and a
 * sentence. */
int push_kept(const struct push *w, struct err *err);

/* The default queue folder for a server, in the user's cache; NULL: the user has no home folder.
 * The caller frees it. */
char *push_default_queue(const struct push_target *target);

/* Sends what is live at the end of a recording in a file. (A server would add up sums since the
 * start if it gets several recordings.) */
int push_live(const struct push *w, const char *path, struct err *err);

/* The same for a recording in memory, for session_options.push_snapshot; its context is a struct
 * push. It is no failure if the profile is kept in the queue; -ENOSPC: older ones were dropped from
 * it. */
int push_snapshot(void *context, const struct strbuf *bytes, struct err *err);

#endif
