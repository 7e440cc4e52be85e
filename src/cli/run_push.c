#include "cli/run_push.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_amount.h"

#define EVERY_NS UINT64_C(60000000000)

void run_push_init(struct run_push *p)
{
    /* The user should not wait long for the last profile: what is in the queue is sent by the next
     * push. */
    *p = (struct run_push){
        .push = {.queue_size = PUSH_QUEUE_SIZE, .retries = 1, .quiet = true, .silent = true}};
}

int run_push_url(struct run_push *p, char *argument, struct err *err)
{
    return push_target_parse(&p->push.target, "--push", argument, err);
}

int run_push_label(struct run_push *p, const char *argument, struct err *err)
{
    struct err why = {{0}};
    *vec_push(&p->push.labels) = argument;
    return push_label_check(argument, &why) ? err_set(err, -EINVAL, "--push-label: %s", why.text)
                                            : 0;
}

int run_push_queue(struct run_push *p, const char *argument, struct err *err)
{
    p->push.queue = argument;
    return *argument ? 0 : err_set(err, -EINVAL, "--push-queue takes a folder, or 'off'");
}

int run_push_queue_size(struct run_push *p, const char *argument, struct err *err)
{
    return amount_parse(argument, &p->push.queue_size) && p->push.queue_size > 0
               ? 0
               : err_set(err, -EINVAL, "--push-queue-size takes a size such as 64M, not '%.100s'",
                         argument);
}

int run_push_check(const struct run_push *p, bool snapshots, struct err *err)
{
    bool sized = p->push.queue_size != PUSH_QUEUE_SIZE;
    if (!run_push_is_on(p) && (p->every_ns || p->push.labels.count || p->push.queue || sized))
        return err_set(err, -EINVAL,
                       "--every, --push-label, --push-queue and --push-queue-size are for --push");
    return run_push_is_on(p) && snapshots
               ? err_set(err, -EINVAL,
                         "--push cannot be combined with --snapshot-every or --snapshot-at")
               : 0;
}

void run_push_prepare(struct run_push *p, struct session_options *session)
{
    if (!run_push_is_on(p))
        return;
    if (!p->push.queue)
        p->push.queue = p->queue = push_default_queue(&p->push.target);
    else if (strcmp(p->push.queue, "off") == 0)
        p->push.queue = NULL;
    session->snapshot_every_ns = p->every_ns ? p->every_ns : EVERY_NS;
    session->push_snapshot = push_snapshot;
    session->push_context = &p->push;
}

void run_push_last(struct run_push *p, const char *file, bool quiet)
{
    struct err err = {{0}};
    p->push.silent = quiet;
    if (!file || push_live(&p->push, file, &err))
        fprintf(stderr, "tidemark run: not pushed: %s\n",
                file ? err.text : "there is no recording");
}
