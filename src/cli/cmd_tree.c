/* tidemark tree FILE: the calls that led to a peak, or that were made in a window. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "cli/peak_lines.h"
#include "cli/picture.h"
#include "cli/query_options.h"
#include "answer/tree.h"
#include "answer/peaks.h"
#include "answer/summary.h"
#include "answer/units.h"

#define TEXT_ROWS 80

enum {
    OPT_PEAK = QUERY_EXTRA,
    OPT_PEAK_LEAST,
    OPT_DELTA_TIME,
    OPT_DELTA_VALUE,
    OPT_ORDER,
    OPT_PREFIX
};

static const struct option extra[] = {
    {"peak", required_argument, NULL, OPT_PEAK},
    {"peak-least", required_argument, NULL, OPT_PEAK_LEAST},
    {"peak-delta-time", required_argument, NULL, OPT_DELTA_TIME},
    {"peak-delta-value", required_argument, NULL, OPT_DELTA_VALUE},
    {"order", required_argument, NULL, OPT_ORDER},
    {"prefix", required_argument, NULL, OPT_PREFIX},
    {0}};

struct wanted {
    unsigned long peak; /* 0: a window */
    struct peak_options peaks;
    const char *prefix;
    bool by_size;
};

static void print_help(void)
{
    puts("usage: tidemark tree FILE [--peak N | --thread NAME --since WHEN --at WHEN] [OPTIONS]\n"
         "\n"
         "Shows the calls that led to a peak, or that allocated or freed in a window, as a tree: "
         "time of\n"
         "the first event, bytes gained, bytes of their blocks that were freed, number of "
         "allocations.\n"
         "\n"
         "  --peak N         the peak with that number in tidemark peaks: from the lowest point "
         "before it\n"
         "  --peak-least SIZE, --peak-delta-time S, --peak-delta-value SIZE\n"
         "                   as --peak and the others were given to tidemark peaks\n"
         "  --since WHEN, --at WHEN\n"
         "                   the window; moments as in tidemark report\n"
         "  --order O        time (default): as they happened; size: the largest first\n"
         "  --prefix PATH    remove this prefix from file names\n"
         "  --thread NAME, --within REGEX, --within-path PREFIX, --ignore REGEX, --fold REGEX,\n"
         "  --no-fold, --merge RULE, --python-only, --native-only,\n"
         "  --suppressions FILE, --presets, --no-presets, --no-defaults\n"
         "                   as in tidemark report\n"
         "  --top N          at most N calls; 0: all\n"
         "  --process PID    another process of the recording (PID#N: its N-th program), or all\n"
         "  --json           for scripts\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark tree app.tide --peak 18\n"
         "  tidemark tree app.tide --thread worker-3 --since 1s --at 2s --order size");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    char *end;
    switch (val) {
    case OPT_PEAK:
        w->peak = strtoul(argument, &end, 10);
        return *end || !w->peak || *argument == '-'
                   ? err_set(err, -EINVAL, "--peak '%s' is not a number from tidemark peaks",
                             argument)
                   : 0;
    case OPT_PEAK_LEAST:
        return peak_take_size("--peak-least", argument, &w->peaks.least_bytes, err);
    case OPT_DELTA_VALUE:
        return peak_take_size("--peak-delta-value", argument, &w->peaks.least_change, err);
    case OPT_DELTA_TIME:
        return peak_take_time(argument, &w->peaks.least_time_ns, err);
    case OPT_PREFIX:
        w->prefix = argument;
        return 0;
    default:
        w->by_size = strcmp(argument, "size") == 0;
        return w->by_size || strcmp(argument, "time") == 0
                   ? 0
                   : err_set(err, -EINVAL, "--order takes 'time' or 'size', not '%s'", argument);
    }
}

/* The question that a peak stands for: its thread, and the window from the lowest point before it.
 */
struct peak_query {
    struct query query;
    char thread[16];
    char *since, *at;
    struct strbuf heading;
    struct tree_peak peak;
};

/* Calls are known by intervals. A peak inside one is over when it ends. */
static void put_rest(const struct tree_peak *peak, struct strbuf *out)
{
    if (peak->listed_bytes == peak->bytes)
        return;
    say(out,
        "\nthe peak lies inside an interval; at its end, where this tree ends, %B of %B are live",
        peak->listed_bytes, peak->bytes);
}

static int find_peak(struct peak_query *k, const struct recording *r, const struct query *asked,
                     const struct wanted *w, struct err *err)
{
    struct peaks p;
    int code = peaks_init(&p, r, asked, &w->peaks, err);
    if (code)
        return code;
    if (w->peak > p.list.count) {
        code =
            err_set(err, -ENOENT, "there is no peak %lu; there are %zu, tidemark peaks lists them",
                    w->peak, p.list.count);
    } else {
        const struct peak *peak = &p.list.items[w->peak - 1];
        uint64_t from = p.lines.time_ns[peak->trough], to = p.lines.time_ns[peak->moment];
        k->since = xasprintf("%.9fs", (double)from / 1e9);
        k->at = xasprintf("%.9fs", (double)to / 1e9);
        k->query.since = from ? k->since : "start";
        k->query.at = k->at;
        if (peak->line != THREADS_PROCESS) {
            const struct thread *t =
                &p.lines.profile->threads.items[p.lines.lines.items[peak->line].thread];
            snprintf(k->thread, sizeof k->thread, "%u", (unsigned)t->tid);
            k->query.focus.thread = k->thread;
        }
        strbuf_puts(&k->heading, "peak ");
        peak_legend(&p, peak, style_of(STDOUT_FILENO).width - k->heading.size, &k->heading);
        k->peak = (struct tree_peak){peak->number, peak->bytes,
                                     peak->line == THREADS_PROCESS ? p.lines.total[peak->moment]
                                                                   : peak->bytes};
        put_rest(&k->peak, &k->heading);
    }
    peaks_release(&p);
    return code;
}

static int print(const struct recording *r, const struct tree *d, const struct query_options *o,
                 const struct wanted *w, const struct peak_query *k, struct err *err)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        tree_json(r, d, &k->peak, w->prefix, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        const char *heading = k->heading.size ? k->heading.data : "what was allocated and freed";
        summary_choice(r, d->places.total.profile, &style, &out);
        tree_text(d, heading, w->prefix, o->top_given ? o->query.top : TEXT_ROWS, &style, &out);
    }
    int code = picture_write(NULL, &out, err);
    strbuf_release(&out);
    return code;
}

int cmd_tree(int argc, char **argv)
{
    static const char *const common[] = {"at",          "since",       "top",   "within", "ignore",
                                         "fold",        "no-fold",     "merge", "thread", "process",
                                         "python-only", "native-only", "json",  "help",   NULL};
    struct wanted w = {.peaks = PEAK_OPTIONS_DEFAULT};
    const struct query_command command = {.name = "tree",
                                          .files = 1,
                                          .one_process = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &w};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    struct tree d;
    int code = query_options_parse(&o, argc, argv, &command, &err);
    if (code) {
        fprintf(stderr, "tidemark tree: %s\n", err.text);
        return 2;
    }
    struct peak_query k = {.query = o.query};
    if (o.help) {
        print_help();
        goto out;
    }
    code = query_read(&o, o.files.items[0], &recording, &err) ? -EIO : 0;
    if (!code && w.peak)
        code = find_peak(&k, recording, &o.query, &w, &err);
    if (!code)
        code = tree_init(&d, recording, &k.query, w.by_size, &err);
    if (!code) {
        code = print(recording, &d, &o, &w, &k, &err);
        tree_release(&d);
    }
out:
    if (code)
        fprintf(stderr, "tidemark tree: %s\n", err.text);
    free(k.since);
    free(k.at);
    strbuf_release(&k.heading);
    recording_free(recording);
    query_options_release(&o);
    return code == 0 ? 0 : code == -EINVAL ? 2 : 1;
}
