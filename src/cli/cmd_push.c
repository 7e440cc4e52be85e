/* tidemark push FILE --to URL: sends a recording to Pyroscope's HTTP API. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse_amount.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/push.h"
#include "model/sample_sums.h"

enum {
    OPT_TO = QUERY_EXTRA,
    OPT_NAME,
    OPT_LABEL,
    OPT_CA,
    OPT_QUEUE,
    OPT_QUEUE_SIZE,
    OPT_RETRIES,
    OPT_QUIET,
    OPT_FORMAT
};

static void print_help(void)
{
    puts(
        "usage: tidemark push FILE --to URL [OPTIONS]\n"
        "       tidemark push --to URL --queue DIR [OPTIONS]\n"
        "\n"
        "Sends a recording as pprof to Pyroscope, or to another server that takes the same HTTP "
        "API:\n"
        "what was allocated and what is live, or one metric. If there is more than such a server\n"
        "takes (4 MiB, 16,000 stacks, 1,000 calls in a stack), the smallest stacks, and the "
        "innermost\n"
        "calls, become [other]; sums stay the same, and stderr says what was left out. Without "
        "FILE, "
        "it\n"
        "sends what is in the queue.\n"
        "\n"
        "  --to URL         the server: http[s]://[USER:PASSWORD@]HOST[:PORT][/PATH]\n"
        "  --format F       pprof (default); or otlp, experimental: to URL/v1development/profiles, "
        "for\n"
        "                   OpenTelemetry collectors\n"
        "  --name APP       the name of the application (default: that of the program)\n"
        "  --label KEY=VALUE  a label of the profile (repeatable)\n"
        "  --ca FILE        trust the certificates in FILE (PEM) instead of the system's\n"
        "  --retries N      if the server cannot be reached or is busy, try again up to N times\n"
        "                   (default: 4), after about 0.5, 1, 2 ... 30 seconds\n"
        "  --queue DIR      keep what could not be sent in DIR; the next push sends it first\n"
        "  --queue-size SIZE  keep at most SIZE in DIR, dropping the oldest (default: 64M)\n"
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
    struct push *w = context;
    uint64_t n = 0;
    int code;
    switch (val) {
    case OPT_TO: /* it is in argv, which may be written to */
        return push_target_parse(&w->target, "--to", (char *)(uintptr_t)argument, err);
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
        code = options_number("--retries", argument, 0, 100, &n, err);
        w->retries = (unsigned)n;
        return code;
    case OPT_QUIET:
        w->quiet = true;
        return 0;
    case OPT_FORMAT:
        w->format = strcmp(argument, "otlp") == 0 ? PUSH_AS_OTLP : PUSH_AS_PPROF;
        return w->format == PUSH_AS_OTLP || strcmp(argument, "pprof") == 0
                   ? 0
                   : err_set(err, -EINVAL, "--format takes 'pprof' or 'otlp', not '%.100s'",
                             argument);
    default:
        *(val == OPT_CA ? &w->ca : &w->queue) = argument;
        return 0;
    }
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    struct push *w = o->command->context;
    if (!w->target.url)
        return err_set(err, -EINVAL, "--to URL is missing; it names the server");
    if (!r && !w->queue)
        return err_set(err, -EINVAL, "name a recording; --queue DIR alone sends what was kept");
    if (!r)
        return push_kept(w, err);
    if (!o->metric_given)
        o->query.metric = sampled_default(r);
    return push_recording(w, r, &o->query, o->metric_given || o->query.metric != METRIC_LIVE, err);
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
                                          {"format", required_argument, NULL, OPT_FORMAT},
                                          {0}};
    static const char *const common[] = {
        "metric", "size", "at", "process", "help", QUERY_FOCUS_OPTIONS, NULL};
    struct push wanted = {.queue_size = PUSH_QUEUE_SIZE, .retries = PUSH_RETRIES};
    const struct query_command command = {.name = "push",
                                          .help = print_help,
                                          .files = 1,
                                          .optional = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    int status = command_ask(argc, argv, &command, ask);
    push_target_release(&wanted.target);
    vec_release(&wanted.labels);
    return status;
}
