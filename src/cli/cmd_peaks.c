/* tidemark peaks FILE: numbered peaks of every thread and of the process. */
#include "cli/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/say.h"
#include "cli/command.h"
#include "cli/peak_options.h"
#include "cli/picture.h"
#include "export/threads_plot.h"
#include "answer/next_command.h"
#include "answer/peaks.h"

#define TEXT_ROWS 20

enum { OPT_PLOT = OPT_PEAK_NEXT, OPT_REBASE };

static const struct option extra[] = {PEAK_OPTION_LIST("peak"),
                                      {"plot", required_argument, NULL, OPT_PLOT},
                                      {"rebase", no_argument, NULL, OPT_REBASE},
                                      {0}};

struct wanted {
    struct peak_options peaks;
    const char *plot;
    bool rebase;
};

static void print_help(void)
{
    puts("usage: tidemark peaks FILE [OPTIONS]\n"
         "\n"
         "Finds the peaks of each thread's live bytes and of the process's, and numbers them in "
         "order of time.\n"
         "Each has a line of the form NUMBER: THREAD>FILE:LINE:FUNCTION=>BYTES and its largest "
         "stacks.\n"
         "\n"
         "  --peak SIZE      only peaks at least this high: 64K, 10MB\n"
         "  --peak-delta-time S\n"
         "                   if peaks of a thread are closer together than this, keep the "
         "highest:\n"
         "                   seconds, or 20ms\n"
         "  --peak-delta-value SIZE\n"
         "                   how far a line must fall and rise between two peaks (default: a "
         "twentieth of\n"
         "                   the line's highest)\n"
         "  --plot FILE      the threads' lines with the numbers on them, as an SVG\n"
         "  --rebase         in the picture: subtract the RSS at the beginning\n"
         "  --since WHEN, --at WHEN\n"
         "                   only this part of the run; moments as in tidemark report");
    lines_help("show the N highest", TEXT_ROWS, "");
    puts("  tidemark peaks app.tide --peak 1MB --plot peaks.svg\n"
         "  tidemark tree app.tide --peak 18");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    if (val < OPT_PEAK_NEXT)
        return peak_take(&w->peaks, val, "--peak", argument, err);
    if (val == OPT_PLOT)
        w->plot = argument;
    else
        w->rebase = true;
    return 0;
}

static int draw(const struct peaks *p, const struct wanted *w, struct err *err)
{
    struct threads_plot plot;
    struct strbuf bytes = {0};
    VEC(char *) texts = {0};
    threads_plot_init(&plot, &p->lines, w->rebase);
    for (size_t i = 0; i < p->list.count; i++) {
        const struct peak *k = &p->list.items[i];
        struct strbuf text = {0};
        peak_legend(p, k, SIZE_MAX, &text);
        *vec_push(&texts) = strbuf_detach(&text);
        *vec_push(&plot.plot.peaks) =
            (struct plot_peak){.x = (double)p->lines.time_ns[k->moment] / 1e9,
                               .y = (double)k->bytes,
                               .number = k->number,
                               .below = k->line != THREADS_PROCESS,
                               .text = *vec_last(&texts)};
    }
    plot_svg(&plot.plot, &bytes);
    int code = picture_write(w->plot, &bytes, err);
    strbuf_release(&bytes);
    threads_plot_release(&plot);
    for (size_t i = 0; i < texts.count; i++)
        free(texts.items[i]);
    vec_release(&texts);
    return code;
}

/* The options that decide which peaks there are and what their numbers mean: with other options,
 * peak 2 is another one. */
static void put_options(const struct query_options *o, const struct wanted *w, struct strbuf *out)
{
    const struct peak_options usual = PEAK_OPTIONS_DEFAULT;
    strbuf_puts(out, "");
    next_filter(out, &o->query.filter);
    for (size_t i = 0; i < o->suppressions.count; i++)
        next_option(out, "--suppressions", o->suppressions.items[i]);
    say(out, "%r%r", o->query.filter.presets ? " --presets" : "",
        o->query.filter.no_defaults ? " --no-defaults" : "");
    next_option(out, "--since", o->query.since);
    next_option(out, "--at", o->query.at);
    if (w->peaks.least_bytes != usual.least_bytes)
        strbuf_printf(out, " --peak-least %" PRId64, w->peaks.least_bytes);
    if (w->peaks.least_change != usual.least_change)
        strbuf_printf(out, " --peak-delta-value %" PRId64, w->peaks.least_change);
    if (w->peaks.least_time_ns != usual.least_time_ns)
        strbuf_printf(out, " --peak-delta-time %.9gs", (double)w->peaks.least_time_ns / 1e9);
}

static int print(const struct peaks *p, const struct query_options *o, const struct wanted *w)
{
    struct json_stacks stacks = {.frames = &p->places.total.frames};
    struct strbuf options = {0};
    put_options(o, w, &options);
    const struct peaks_listing listing = {
        .peaks = p, .file = o->files.items[0], .options = options.data, .stacks = &stacks};
    const struct document document = peaks_document(&listing);
    int status = command_write(o, &document);
    json_stacks_release(&stacks);
    strbuf_release(&options);
    return status;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct peaks peaks;
    if (w->rebase && !w->plot)
        return err_set(err, -EINVAL, "--rebase is for --plot");
    int code = peaks_init(&peaks, r, &o->query, &w->peaks, err);
    if (code)
        return code;
    if (w->plot)
        code = draw(&peaks, w, err);
    peaks_keep_highest(&peaks, o->query.top);
    if (!code)
        code = print(&peaks, o, w);
    peaks_release(&peaks);
    return code;
}

int cmd_peaks(int argc, char **argv)
{
    struct wanted w = {.peaks = PEAK_OPTIONS_DEFAULT};
    const struct query_command command = {LINES_COMMAND("peaks", TEXT_ROWS), .help = print_help,
                                          .extra = extra, .take = take, .context = &w};
    return command_ask(argc, argv, &command, ask);
}
