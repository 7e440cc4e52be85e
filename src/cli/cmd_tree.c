/* tidemark tree FILE: the calls that led to a peak, or that were made in a window. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/say.h"
#include "cli/command.h"
#include "cli/peak_options.h"
#include "cli/terminal.h"
#include "answer/tree.h"
#include "answer/peaks.h"

#define TEXT_ROWS 80

enum { OPT_PEAK = OPT_PEAK_NEXT, OPT_ORDER, OPT_PREFIX };

static const struct option extra[] = {{"peak", required_argument, NULL, OPT_PEAK},
                                      PEAK_OPTION_LIST("peak-least"),
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
         "the first event, bytes gained, bytes freed again, number of allocations.\n"
         "\n"
         "  --peak N         the peak with that number in tidemark peaks: from the lowest point "
         "before it\n"
         "  --peak-least SIZE, --peak-delta-time S, --peak-delta-value SIZE\n"
         "                   the options --peak, --peak-delta-time and --peak-delta-value with "
         "which\n"
         "                   tidemark peaks numbered them\n"
         "  --since WHEN, --at WHEN\n"
         "                   the window; moments as in tidemark report\n"
         "  --order O        time (default): as they happened; size: the largest first\n"
         "  --prefix PATH    remove this prefix from file names");
    lines_help("at most N calls", TEXT_ROWS, "");
    puts("  tidemark tree app.tide --peak 18\n"
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
    case OPT_PREFIX:
        w->prefix = argument;
        return 0;
    case OPT_ORDER:
        w->by_size = strcmp(argument, "size") == 0;
        return w->by_size || strcmp(argument, "time") == 0
                   ? 0
                   : err_set(err, -EINVAL, "--order takes 'time' or 'size', not '%s'", argument);
    default:
        return peak_take(&w->peaks, val, "--peak-least", argument, err);
    }
}

/* The question for a peak: its thread, and the window from the lowest point before it. */
struct peak_query {
    struct query query;
    char thread[16];
    char *since, *at;
    struct strbuf heading;
    struct tree_peak peak;
};

/* Calls are known by intervals. A peak inside an interval may be over when the interval ends. */
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
            snprintf(k->thread, sizeof k->thread, "%u",
                     (unsigned)p.lines.lines.items[peak->line].info->tid);
            k->query.filter.thread = k->thread;
        }
        strbuf_puts(&k->heading, "peak ");
        peak_legend(&p, peak, style_of_stdout().width - k->heading.size, &k->heading);
        k->peak = (struct tree_peak){peak->number, peak->bytes,
                                     peak->line == THREADS_PROCESS ? p.lines.total[peak->moment]
                                                                   : peak->bytes};
        put_rest(&k->peak, &k->heading);
    }
    peaks_release(&p);
    return code;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct peak_query k = {.query = o->query};
    struct tree tree;
    int code = w->peak ? find_peak(&k, r, &o->query, w, err) : 0;
    if (!code)
        code = tree_init(&tree, r, &k.query, w->by_size, err);
    if (!code) {
        const struct tree_listing listing = {
            &tree, k.heading.size ? k.heading.data : "what was allocated and freed", w->prefix,
            k.peak};
        const struct document document = tree_document(&listing, o->query.top);
        code = command_write(o, &document);
        tree_release(&tree);
    }
    free(k.since);
    free(k.at);
    strbuf_release(&k.heading);
    return code;
}

int cmd_tree(int argc, char **argv)
{
    struct wanted w = {.peaks = PEAK_OPTIONS_DEFAULT};
    const struct query_command command = {LINES_COMMAND("tree", TEXT_ROWS), .help = print_help,
                                          .extra = extra, .take = take, .context = &w};
    return command_ask(argc, argv, &command, ask);
}
