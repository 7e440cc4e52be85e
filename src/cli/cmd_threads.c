/* tidemark threads FILE: what each thread held over time. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/peak_options.h"
#include "cli/picture.h"
#include "export/threads_plot.h"
#include "answer/threads.h"
#include "model/imported.h"

#define TEXT_ROWS 20

enum { OPT_PLOT = QUERY_EXTRA, OPT_GNUPLOT, OPT_REBASE };

static const struct option extra[] = {{"plot", required_argument, NULL, OPT_PLOT},
                                      {"gnuplot", required_argument, NULL, OPT_GNUPLOT},
                                      {"rebase", no_argument, NULL, OPT_REBASE},
                                      {0}};

struct wanted {
    const char *plot, *gnuplot;
    bool rebase;
};

static void print_help(void)
{
    puts("usage: tidemark threads FILE [OPTIONS]\n"
         "\n"
         "Shows for each thread its live bytes, their highest value, how fast it allocates, its "
         "share of the\n"
         "process's peak, and what it freed of other threads' blocks. A block counts for the "
         "thread that\n"
         "allocated it, whichever thread frees it.\n"
         "\n"
         "  --plot FILE      live bytes of each thread over time, as an SVG; every thread's name "
         "in\n"
         "                   FILE.legend.txt\n"
         "  --gnuplot FILE   the same as data for gnuplot\n"
         "  --rebase         in the picture: subtract the RSS at the beginning\n"
         "  --since WHEN, --at WHEN\n"
         "                   only this part of the run; moments as in tidemark report");
    lines_help("at most N threads", TEXT_ROWS, "; JSON has the lines over time too");
    puts("  tidemark threads app.tide\n"
         "  tidemark threads app.tide --plot threads.svg --rebase\n"
         "  tidemark threads app.tide --since event#10 --at event#20 --csv");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    (void)err;
    if (val == OPT_REBASE)
        w->rebase = true;
    else
        *(val == OPT_PLOT ? &w->plot : &w->gnuplot) = argument;
    return 0;
}

static int draw(const struct threads *t, const struct wanted *w, struct err *err)
{
    struct threads_plot p;
    struct strbuf bytes = {0};
    int code = 0;
    threads_plot_init(&p, t, w->rebase);
    if (w->plot) {
        plot_svg(&p.plot, &bytes);
        code = picture_write(w->plot, &bytes, err);
        strbuf_clear(&bytes);
        if (!code && strcmp(w->plot, "-") != 0) {
            char *legend = xasprintf("%s.legend.txt", w->plot);
            threads_legend(t, &bytes);
            code = picture_write(legend, &bytes, err);
            free(legend);
        }
    }
    strbuf_clear(&bytes);
    if (w->gnuplot && !code) {
        plot_gnuplot(&p.plot, &bytes);
        code = picture_write(w->gnuplot, &bytes, err);
    }
    strbuf_release(&bytes);
    threads_plot_release(&p);
    return code;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct threads threads;
    bool drawn = w->plot || w->gnuplot;
    int code = drawn ? picture_alone(w->plot ? "--plot" : "--gnuplot", o->output, err) : 0;
    if (!code && w->rebase && !drawn)
        code = err_set(err, -EINVAL, "--rebase is for --plot and --gnuplot");
    if (code)
        return code;
    code = threads_init(&threads, r, &o->query, err);
    if (code)
        return code;
    code = known_all(threads.profile, UNKNOWN_THREADS, "threads", err);
    if (code) {
        threads_release(&threads);
        return code;
    }
    const struct document document = threads_document(&threads, o->query.top);
    code = drawn ? draw(&threads, w, err) : command_write(o, &document);
    threads_release(&threads);
    return code;
}

int cmd_threads(int argc, char **argv)
{
    struct wanted w = {0};
    const struct query_command command = {LINES_COMMAND("threads", TEXT_ROWS), .help = print_help,
                                          .extra = extra, .take = take, .context = &w};
    return command_ask(argc, argv, &command, ask);
}
