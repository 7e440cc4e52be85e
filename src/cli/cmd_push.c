/* tidemark push FILE --to URL: a recording to Pyroscope, by its HTTP API. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/path.h"
#include "base/say.h"
#include "cli/command.h"
#include "cli/http.h"
#include "cli/push_queue.h"
#include "cli/push_target.h"
#include "export/export.h"
#include "model/sampled.h"

/* What Pyroscope takes unless it is configured otherwise. */
#define MAX_BYTES   (4 << 20)
#define MAX_SAMPLES 16000
#define MAX_DEPTH   1000

#define QUEUE_SIZE   (64 << 20)
#define RETRIES      4
#define FIRST_WAIT   500 /* ms; each further one is twice as long, up to */
#define LONGEST_WAIT 30000

enum {
    OPT_TO = QUERY_EXTRA,
    OPT_NAME,
    OPT_LABEL,
    OPT_CA,
    OPT_QUEUE,
    OPT_QUEUE_SIZE,
    OPT_RETRIES,
    OPT_QUIET
};

struct wanted {
    struct push_target target;
    const char *name, *ca, *queue;
    VEC(const char *) labels;
    int64_t queue_size;
    unsigned retries;
    bool quiet;
};

static void print_help(void)
{
    puts(
        "usage: tidemark push FILE --to URL [OPTIONS]\n"
        "\n"
        "Sends a recording as pprof to Pyroscope, or to another server that takes the same HTTP "
        "API:\n"
        "what was allocated and what is live, or one metric. If there is more than such a server\n"
        "takes (4 MiB, 16,000 stacks, 1,000 calls in a stack), the smallest stacks, and the "
        "innermost\n"
        "calls, become [other]; sums stay the same, and stderr says what was left out.\n"
        "\n"
        "  --to URL         the server: http[s]://[USER:PASSWORD@]HOST[:PORT][/PATH]\n"
        "  --name APP       the name of the application (default: that of the program)\n"
        "  --label KEY=VALUE  a label of the profile (repeatable)\n"
        "  --ca FILE        trust the certificates in FILE (PEM) instead of the system's\n"
        "  --retries N      try again so often if the server cannot be reached or is busy "
        "(default: 4),\n"
        "                   after about 0.5, 1, 2 ... 30 seconds\n"
        "  --queue DIR      keep what could not be sent in DIR; the next push sends it first\n"
        "  --queue-size SIZE  keep at most so much, the newest (default: 64M)\n"
        "  --quiet          say nothing if all went well\n"
        "  --metric M, --size S, --at WHEN, --process PID\n"
        "                   as in tidemark report\n" QUERY_FOCUS_HELP
        "  --help           this text\n"
        "\n"
        "If TIDEMARK_PUSH_TOKEN is set, it is sent as 'Authorization: Bearer TOKEN'.\n"
        "\n"
        "Exit status: 0 if all was sent; 1 if not, also if it is in the queue; 2 for wrong usage.\n"
        "\n"
        "Examples:\n"
        "  tidemark push app.tide --to http://localhost:4040 --label commit=$(git rev-parse "
        "--short HEAD)\n"
        "  tidemark push app.tide --to https://pyroscope.example.org --queue ~/.cache/push");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    char *end;
    unsigned long n;
    switch (val) {
    case OPT_TO: /* it is in argv, which may be written to */
        return push_target_parse(&w->target, (char *)(uintptr_t)argument, err);
    case OPT_NAME:
        w->name = argument;
        return push_name_check(argument, err);
    case OPT_LABEL:
        *vec_push(&w->labels) = argument;
        return push_label_check(argument, err);
    case OPT_QUEUE_SIZE:
        return amount_parse(argument, &w->queue_size) && w->queue_size > 0
                   ? 0
                   : err_set(err, -EINVAL, "--queue-size takes a size such as 64M, not '%.100s'",
                             argument);
    case OPT_RETRIES:
        n = strtoul(argument, &end, 10);
        if (*argument < '0' || *argument > '9' || *end || n > 100)
            return err_set(err, -EINVAL, "--retries takes a number from 0 to 100, not '%.100s'",
                           argument);
        w->retries = (unsigned)n;
        return 0;
    case OPT_QUIET:
        w->quiet = true;
        return 0;
    default:
        *(val == OPT_CA ? &w->ca : &w->queue) = argument;
        return 0;
    }
}

#define tell(...)                                                                                  \
    do {                                                                                           \
        struct strbuf line_ = {0};                                                                 \
        say(&line_, "tidemark push: " __VA_ARGS__);                                                \
        fprintf(stderr, "%s\n", line_.data);                                                       \
        strbuf_release(&line_);                                                                    \
    } while (0)

/* --- sending ---------------------------------------------------------------------------------- */

/* Half to one and a half of it, so that a fleet does not come back all at once. */
static void wait_about(unsigned ms)
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

/* Will it never take this profile? Other refusals are about the address or the password. */
static bool is_refused(long status)
{
    return status == 400 || status == 413 || status == 415 || status == 422;
}

/* 0: the server has it. -EBADMSG: it will never take it. Other negative codes: not now. */
static int send_one(const struct wanted *w, const struct pushed *one, struct err *err)
{
    char *url = xasprintf("%s/ingest?%s", w->target.url, one->question);
    const char *token = getenv("TIDEMARK_PUSH_TOKEN");
    const struct http_post post = {.url = url,
                                   .user = w->target.user,
                                   .password = w->target.password,
                                   .token = token && *token ? token : NULL,
                                   .ca = w->ca,
                                   .content_type = "application/octet-stream",
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
        wait_about(wait);
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

/* What was kept earlier. 0: all of it is sent, or will never be; or negative: not now. */
static int send_queue(const struct wanted *w, const struct push_queue *q, struct err *err)
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

static int keep(const struct push_queue *q, const struct pushed *one, struct err *err)
{
    struct err why = {{0}}, full = *err;
    size_t dropped = 0;
    int code = push_queue_add(q, one, &dropped, &why);
    if (code)
        err_set(err, -EIO, "%.250s; it is lost: %.200s", full.text, why.text);
    else
        err_set(err, -EIO, "%.300s; kept in %.150s", full.text, q->folder);
    if (dropped)
        tell("the queue in %s is full: dropped its oldest %N profile(s)", q->folder, dropped);
    return -EIO;
}

static int deliver(const struct wanted *w, const struct pushed *one, struct err *err)
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
            code = keep(&q, one, err);
    }
    push_queue_close(&q);
    return code;
}

/* --- the command ------------------------------------------------------------------------------ */

/* What stands in the URL behind '?'. Times are whole seconds; a recording that was imported has
 * none, and then it is now. */
static char *question(const struct wanted *w, const struct profile *p, const struct pprof_limits *l)
{
    struct strbuf series = {0}, out = {0};
    char *name = push_name_of(w->name            ? w->name
                              : p->command.count ? path_base(p->command.items[0])
                                                 : "");
    strbuf_puts(&series, name);
    strbuf_puts(&series, "{");
    for (size_t i = 0; i < w->labels.count; i++)
        strbuf_printf(&series, "%s%s", i ? "," : "", w->labels.items[i]);
    strbuf_puts(&series, "}");
    uint64_t until = l->until_unix_ns ? l->until_unix_ns / 1000000000 : (uint64_t)time(NULL);
    uint64_t from = l->until_unix_ns ? l->from_unix_ns / 1000000000 : until;
    strbuf_puts(&out, "name=");
    push_escape(&out, series.data);
    strbuf_printf(&out, "&from=%llu&until=%llu&spyName=tidemark&format=pprof",
                  (unsigned long long)from, (unsigned long long)until);
    strbuf_release(&series);
    free(name);
    return strbuf_detach(&out);
}

static void tell_pruned(const struct pprof_limits *l, enum metric metric)
{
    if (l->cut)
        tell("%N stack(s) with more than %N calls: the innermost calls became [other]", l->cut,
             (uint64_t)MAX_DEPTH);
    if (l->pruned)
        tell("the server takes %N stacks in 4 MiB: the smallest %N, with %d %s of %s, became "
             "[other]",
             (uint64_t)MAX_SAMPLES, l->pruned, l->other.amount, metric_unit(metric),
             report_metric_title(metric));
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    struct wanted *w = o->command->context;
    struct pprof_limits limits = {
        .max_bytes = MAX_BYTES, .max_samples = MAX_SAMPLES, .max_depth = MAX_DEPTH};
    struct strbuf notes = {0};
    struct pushed one = {0};
    const struct profile *profile;
    if (!w->target.url)
        return err_set(err, -EINVAL, "--to URL is missing; it names the server");
    if (!o->metric_given)
        o->query.metric = sampled_default(r);
    struct export export = {.recording = r,
                            .query = &o->query,
                            .metric_given = o->metric_given || o->query.metric != METRIC_LIVE,
                            .presets_given = o->presets_given,
                            .out = &one.body,
                            .notes = &notes,
                            .limits = &limits};
    int code = answer_process(r, &o->query, &profile, err);
    if (!code)
        code = export_pprof(&export, err);
    if (!code) {
        one.question = question(w, profile, &limits);
        tell_pruned(&limits, o->query.metric);
        code = deliver(w, &one, err);
    }
    if (!code && !w->quiet)
        tell("sent %N stack(s) to %s", limits.samples, w->target.url);
    pushed_release(&one);
    strbuf_release(&notes);
    return code == 0 ? 0 : code == -EINVAL ? code : -EIO;
}

int cmd_push(int argc, char **argv)
{
    static const struct option extra[] = {{"to", required_argument, NULL, OPT_TO},
                                          {"name", required_argument, NULL, OPT_NAME},
                                          {"label", required_argument, NULL, OPT_LABEL},
                                          {"ca", required_argument, NULL, OPT_CA},
                                          {"queue", required_argument, NULL, OPT_QUEUE},
                                          {"queue-size", required_argument, NULL, OPT_QUEUE_SIZE},
                                          {"retries", required_argument, NULL, OPT_RETRIES},
                                          {"quiet", no_argument, NULL, OPT_QUIET},
                                          {0}};
    static const char *const common[] = {
        "metric", "size", "at", "process", "help", QUERY_FOCUS_OPTIONS, NULL};
    struct wanted wanted = {.queue_size = QUEUE_SIZE, .retries = RETRIES};
    const struct query_command command = {.name = "push",
                                          .help = print_help,
                                          .files = 1,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    int status = command_ask(argc, argv, &command, ask);
    push_target_release(&wanted.target);
    vec_release(&wanted.labels);
    return status;
}
