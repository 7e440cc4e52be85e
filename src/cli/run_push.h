/*
 * run_push: the options of `run --push`, and what is pushed at the end. Each option is a function
 * that takes its argument. Returns 0, or -EINVAL and a sentence.
 */
#ifndef TIDE_CLI_RUN_PUSH_H
#define TIDE_CLI_RUN_PUSH_H

#include "cli/push.h"
#include "collect/session/session.h"

struct run_push {
    struct push push;  /* its target has no URL: nothing is pushed */
    uint64_t every_ns; /* 0: every minute */
    char *queue;       /* owned: the default folder of the queue */
};

/* Call it before the options. */
void run_push_init(struct run_push *p);
int run_push_url(struct run_push *p, char *argument, struct err *err);
int run_push_label(struct run_push *p, const char *argument, struct err *err);
int run_push_queue(struct run_push *p, const char *argument, struct err *err); /* "off": none */
int run_push_queue_size(struct run_push *p, const char *argument, struct err *err);

static inline bool run_push_is_on(const struct run_push *p)
{
    return p->push.target.url != NULL;
}

/* Call it after the options: -EINVAL and a sentence if they cannot be combined. `snapshots`: other
 * snapshots are taken. */
int run_push_check(const struct run_push *p, bool snapshots, struct err *err);
/* Sets the session's options. */
void run_push_prepare(struct run_push *p, struct session_options *session);

/* Pushes what is live at the end; reports on stderr if it could not be sent. `file` NULL: there is
 * none. */
void run_push_last(struct run_push *p, const char *file, bool quiet);

#endif
