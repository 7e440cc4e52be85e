/* tidemark threads FILE: what each thread had, over time. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/picture.h"
#include "cli/query_options.h"
#include "export/threads_plot.h"
#include "answer/summary.h"
#include "answer/threads.h"

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
         "process's peak and what it freed of others. A block counts for the thread that allocated "
         "it,\n"
         "whichever thread frees it.\n"
         "\n"
         "  --plot FILE      live bytes of each thread over time, as an SVG; every thread's name "
         "in\n"
         "                   FILE.legend.txt\n"
         "  --gnuplot FILE   the same as data for gnuplot\n"
         "  --rebase         in the picture: subtract the RSS at the beginning\n"
         "  --since WHEN, --at WHEN\n"
         "                   only this part of the run; moments as in tidemark report\n"
         "  --within REGEX, --within-path PREFIX, --ignore REGEX, --fold REGEX, --no-fold,\n"
         "  --merge RULE, --thread NAME, --python-only, --native-only,\n"
         "  --suppressions FILE, --presets, --no-presets, --no-defaults\n"
         "                   as in tidemark report\n"
         "  --top N          at most N threads; 0: all\n"
         "  --process PID    another process of the recording (PID#N: its N-th program), or all\n"
         "  --json, --csv    exact numbers for scripts; JSON has the lines over time too\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark threads app.tide\n"
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

static int print(const struct recording *r, const struct threads *t, const struct query_options *o,
                 struct err *err)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        threads_json(r, t, &out);
    } else if (o->output == OUTPUT_CSV) {
        threads_csv(t, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        summary_choice(r, t->profile, &style, &out);
        threads_text(t, o->top_given ? o->query.top : TEXT_ROWS, &style, &out);
    }
    int code = picture_write(NULL, &out, err);
    strbuf_release(&out);
    return code;
}

int cmd_threads(int argc, char **argv)
{
    static const char *const common[] = {
        "at",     "since",   "top",  "within", "ignore", "fold",        "no-fold",     "merge",
        "thread", "process", "json", "csv",    "help",   "python-only", "native-only", NULL};
    struct wanted w = {0};
    const struct query_command command = {.name = "threads",
                                          .files = 1,
                                          .one_process = true,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &w};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    struct threads lines;
    int code = query_options_parse(&o, argc, argv, &command, &err);
    if (code) {
        fprintf(stderr, "tidemark threads: %s\n", err.text);
        return 2;
    }
    if (o.help) {
        print_help();
        goto out;
    }
    code = query_read(&o, o.files.items[0], &recording, &err);
    code = code ? -EIO : threads_init(&lines, recording, &o.query, &err);
    if (!code) {
        code = w.plot || w.gnuplot ? draw(&lines, &w, &err) : print(recording, &lines, &o, &err);
        threads_release(&lines);
    }
out:
    if (code)
        fprintf(stderr, "tidemark threads: %s\n", err.text);
    recording_free(recording);
    query_options_release(&o);
    return code == 0 ? 0 : code == -EINVAL ? 2 : 1;
}
