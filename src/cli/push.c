#include "cli/push.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/say.h"
#include "cli/http.h"
#include "cli/push_queue.h"
#include "export/export.h"
#include "store/reader.h"

/* Pyroscope's default limits. */
#define MAX_BYTES   (4 << 20)
#define MAX_SAMPLES 16000
#define MAX_DEPTH   1000

#define FIRST_WAIT   500 /* ms; each further wait is twice as long, up to */
#define LONGEST_WAIT 30000

#define tell(...)                                                                                  \
    do {                                                                                           \
        struct strbuf line_ = {0};                                                                 \
        say(&line_, "tidemark push: " __VA_ARGS__);                                                \
        fprintf(stderr, "%s\n", line_.data);                                                       \
        strbuf_release(&line_);                                                                    \
    } while (0)

/* --- sending ---------------------------------------------------------------------------------- */

/* Waits for a random time, half to one and a half of it, so that a fleet does not come back all at
 * once. */
static void wait_with_jitter(unsigned ms)
{
    struct timespec now, left;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t wait = ms / 2 + (uint64_t)(now.tv_nsec / 1000 + getpid()) % ms;
    left = (struct timespec){.tv_sec = (time_t)(wait / 1000),
                             .tv_nsec = (long)(wait % 1000) * 1000000};
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static bool is_busy(long status)
{
    return status == 408 || status == 429 || status >= 500;
}

/* Will the server never accept this profile? Other refusals are about the address or the
 * password. */
static bool is_refused(long status)
{
    return status == 400 || status == 413 || status == 415 || status == 422;
}

/* Returns 0: the server has it. -EBADMSG: it will never accept it. Other negative codes: not
 * now. */
static int send_one(const struct push *w, const struct pushed *one, struct err *err)
{
    char *url = xasprintf("%s/%s", w->target.url, one->request);
    bool otlp = strcmp(one->request, PUSH_OTLP) == 0;
    const char *token = getenv("TIDEMARK_PUSH_TOKEN");
    const struct http_post post = {.url = url,
                                   .user = w->target.user,
                                   .password = w->target.password,
                                   .token = token && *token ? token : NULL,
                                   .ca = w->ca,
                                   .content_type =
                                       otlp ? "application/x-protobuf" : "application/octet-stream",
                                   .encoding = otlp ? "gzip" : NULL,
                                   .body = one->body.data,
                                   .size = one->body.size};
    struct http_answer answer;
    struct err why = {{0}};
    int code;
    for (unsigned tried = 0, wait = FIRST_WAIT;; tried++) {
        code = http_post(&post, &answer, &why);
        bool again = code == -EAGAIN || (!code && is_busy(answer.status));
        if (!again || tried == w->retries)
            break;
        wait_with_jitter(wait);
        wait = wait * 2 < LONGEST_WAIT ? wait * 2 : LONGEST_WAIT;
    }
    free(url);
    if (!code && answer.status >= 200 && answer.status < 300)
        return 0;
    struct strbuf text = {0};
    if (code)
        say(&text, "%s: %s", w->target.url, why.text);
    else
        say(&text, "%s answers %d%s%s", w->target.url, (int64_t)answer.status,
            *answer.text ? ": " : "", answer.text);
    err_set(err, -EIO, "%s", text.data);
    strbuf_release(&text);
    return !code && is_refused(answer.status) ? -EBADMSG : -EIO;
}

/* Sends what was kept earlier. Returns 0: all of it is sent, or never will be; or a negative code:
 * not now. */
static int send_queue(const struct push *w, const struct push_queue *q, struct err *err)
{
    size_t sent = 0;
    int code = 0;
    for (size_t i = 0; i < q->files.count && !code; i++) {
        struct pushed one;
        struct err why = {{0}};
        code = push_queue_read(q->files.items[i], &one, &why);
        if (!code)
            code = send_one(w, &one, &why);
        bool gone = !code || code == -EBADMSG || code == -EINVAL;
        if (gone && !unlink(q->files.items[i]) && code)
            tell("a profile from the queue was dropped: %s", why.text);
        sent += !code;
        if (gone || code == -ENOENT)
            code = 0;
        else
            *err = why;
        pushed_release(&one);
    }
    if (sent && !w->quiet)
        tell("sent %N profile(s) from the queue first", sent);
    return code;
}

static int keep(const struct push *w, const struct push_queue *q, const struct pushed *one,
                struct err *err)
{
    struct err why = {{0}}, full = *err;
    size_t dropped = 0;
    int code = push_queue_add(q, one, &dropped, &why);
    if (dropped && !w->silent)
        tell("the queue in %s is full: dropped its oldest %N profile(s)", q->folder, dropped);
    return code ? err_set(err, -EIO, "%.250s; it is lost: %.200s", full.text, why.text)
                : err_set(err, dropped ? -ENOSPC : -EAGAIN, "%.300s; kept in %.150s", full.text,
                          q->folder);
}

static int deliver(const struct push *w, const struct pushed *one, struct err *err)
{
    struct push_queue q = {.lock = -1};
    if (!w->queue)
        return send_one(w, one, err);
    int code = push_queue_open(&q, w->queue, (uint64_t)w->queue_size, err);
    if (!code) {
        code = send_queue(w, &q, err);
        if (!code)
            code = send_one(w, one, err);
        if (code && code != -EBADMSG)
            code = keep(w, &q, one, err);
    }
    push_queue_close(&q);
    return code;
}

int push_kept(const struct push *w, struct err *err)
{
    struct push_queue q = {.lock = -1};
    int code = push_queue_open(&q, w->queue, (uint64_t)w->queue_size, err);
    if (!code && q.lock < 0)
        code = err_set(err, -EBUSY, "another process is sending what is in %s", w->queue);
    if (!code)
        code = send_queue(w, &q, err);
    push_queue_close(&q);
    return code;
}

/* The part of the URL after the server. Times are whole seconds; an imported recording has none, so
 * the current time is used. */
static char *ingest_request(const struct push *w, const struct profile *p,
                            const struct profile_limits *l)
{
    struct strbuf series = {0}, out = {0};
    char *name = push_name_of(w->name            ? w->name
                              : p->command.count ? path_program(p->command.items[0])
                                                 : "");
    strbuf_puts(&series, name);
    strbuf_puts(&series, "{");
    for (size_t i = 0; i < w->labels.count; i++)
        strbuf_printf(&series, "%s%s", i ? "," : "", w->labels.items[i]);
    strbuf_puts(&series, "}");
    uint64_t until = l->until_unix_ns ? l->until_unix_ns / 1000000000 : (uint64_t)time(NULL);
    uint64_t from = l->until_unix_ns ? l->from_unix_ns / 1000000000 : until;
    strbuf_puts(&out, PUSH_INGEST);
    push_escape(&out, series.data);
    strbuf_printf(&out, "&from=%llu&until=%llu&spyName=tidemark&format=pprof",
                  (unsigned long long)from, (unsigned long long)until);
    strbuf_release(&series);
    free(name);
    return strbuf_detach(&out);
}

static void report_pruned(const struct push *w, const struct profile_limits *l, enum metric metric)
{
    if (w->silent)
        return;
    if (l->cut)
        tell("%N stack(s) with more than %N calls: the innermost calls became [other]", l->cut,
             (uint64_t)MAX_DEPTH);
    if (l->pruned)
        tell("the server takes %N stacks in 4 MiB: the smallest %N, with %d %s (--metric %s), "
             "became [other]",
             (uint64_t)MAX_SAMPLES, l->pruned, l->other.amount, metric_unit(metric),
             metric_name(metric));
}

int push_recording(const struct push *w, struct recording *r, const struct query *q,
                   bool metric_given, struct err *err)
{
    struct profile_limits limits = {
        .max_bytes = MAX_BYTES, .max_samples = MAX_SAMPLES, .max_depth = MAX_DEPTH};
    struct strbuf notes = {0};
    struct pushed one = {0};
    const struct profile *profile;
    struct export export = {.recording = r,
                            .query = q,
                            .metric_given = metric_given,
                            .out = &one.body,
                            .notes = &notes,
                            .limits = &limits,
                            .service = w->name,
                            .labels = w->labels.items,
                            .label_count = w->labels.count};
    bool otlp = w->format == PUSH_AS_OTLP;
    int code = answer_process(r, q, &profile, err);
    if (!code)
        code = otlp ? export_otlp(&export, err) : export_pprof(&export, err);
    if (!code) {
        one.request = otlp ? xstrdup(PUSH_OTLP) : ingest_request(w, profile, &limits);
        report_pruned(w, &limits, q->metric);
        code = deliver(w, &one, err);
    }
    if (!code && !w->quiet)
        tell("sent %N stack(s) to %s", limits.samples, w->target.url);
    pushed_release(&one);
    strbuf_release(&notes);
    bool is_documented = code == -EINVAL || code == -EAGAIN || code == -ENOSPC;
    return !code || is_documented ? code : -EIO;
}

char *push_default_queue(const struct push_target *target)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct strbuf path = {0};
    if (cache && *cache == '/')
        strbuf_printf(&path, "%s", cache);
    else if (home && *home == '/')
        strbuf_printf(&path, "%s/.cache", home);
    else
        return NULL;
    strbuf_puts(&path, "/tidemark-push/");
    for (const char *c = target->url; *c; c++)
        strbuf_putc(&path, isalnum((unsigned char)*c) || *c == '.' || *c == '-' ? *c : '_');
    return strbuf_detach(&path);
}

int push_live(const struct push *w, const char *path, struct err *err)
{
    struct recording *r = NULL;
    struct query q;
    int code = recording_read(path, &r, err);
    if (code)
        return code;
    query_init(&q);
    q.metric = METRIC_LIVE;
    code = push_recording(w, r, &q, true, err);
    query_release(&q);
    recording_free(r);
    return code;
}

int push_snapshot(void *context, const struct strbuf *bytes, struct err *err)
{
    char path[32];
    int fd = memfd_create("tidemark", MFD_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int code = 0;
    if (!file || fwrite(bytes->data, 1, bytes->size, file) != bytes->size || fflush(file))
        code = err_set(err, -EIO, "there is no memory for a snapshot: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!code)
        code = push_live(context, path, err);
    if (file)
        fclose(file);
    return code == -EAGAIN ? 0 : code;
}
