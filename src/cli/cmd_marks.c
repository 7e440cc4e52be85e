/* tidemark marks FILE: the marks, and the sizes of the process at each. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "export/marks_plot.h"
#include "model/answer.h"
#include "answer/marks.h"
#include "answer/mark_scopes.h"

enum { OPT_LABEL = QUERY_EXTRA, OPT_STAMPS, OPT_SCOPES, OPT_PLOT, OPT_GNUPLOT, OPT_NPY };

struct wanted {
    const char *label;
    const char *plot, *gnuplot, *npy; /* files to write */
    bool stamps, scopes;
};

static void print_help(void)
{
    puts("usage: tidemark marks FILE [OPTIONS]\n"
         "\n"
         "Shows the marks of a recording with the process's sizes, faults and heap at each.\n"
         "Without marks, it shows the stamps that the collector takes on its own clock.\n"
         "\n"
         "  --label LABEL    only marks of this label\n"
         "  --stamps         also the collector's stamps, without a label\n"
         "  --scopes         changes between marks NAME and NAME.end, added up for each NAME\n"
         "  --process PID    another process of the recording (PID#N: its N-th program)\n"
         "  --json, --csv    exact numbers for scripts\n"
         "  --plot FILE      VM, RSS, live bytes and the allocator's figures over time, as an SVG\n"
         "  --gnuplot FILE   the same as data for gnuplot\n"
         "  --npy FILE       the table as a structured array for numpy.load\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark marks app.tide\n"
         "  tidemark marks app.tide --label event --csv > events.csv\n"
         "  tidemark marks app.tide --scopes\n"
         "  tidemark report app.tide --since event#50 --at event#51");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    (void)err;
    if (val == OPT_STAMPS)
        w->stamps = true;
    else if (val == OPT_SCOPES)
        w->scopes = true;
    else
        *(val == OPT_LABEL     ? &w->label
          : val == OPT_PLOT    ? &w->plot
          : val == OPT_GNUPLOT ? &w->gnuplot
                               : &w->npy) = argument;
    return 0;
}

static int show_scopes(const struct query_options *o, const struct recording *r,
                       const struct profile *p, const char *label, struct err *err)
{
    struct mark_scopes scopes;
    int code = mark_scopes_init(&scopes, r, p, label, err);
    if (code)
        return code;
    const struct document document = mark_scopes_document(&scopes);
    code = command_write(o, &document);
    mark_scopes_release(&scopes);
    return code;
}

/* Writes the files that were asked for; if there are none, the table is printed. */
static int write_files(const struct mark_rows *m, const struct wanted *w, struct err *err)
{
    const struct {
        const char *file;
        void (*write)(const struct mark_rows *, struct strbuf *);
    } files[] = {{w->plot, marks_plot}, {w->gnuplot, marks_gnuplot}, {w->npy, marks_npy}};
    int code = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !code; i++) {
        struct strbuf bytes = {0};
        if (!files[i].file)
            continue;
        files[i].write(m, &bytes);
        code = picture_write(files[i].file, &bytes, err);
        strbuf_release(&bytes);
    }
    return code;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    const struct profile *profile;
    struct mark_rows rows;
    bool picture = w->plot || w->gnuplot;
    if (w->scopes && (w->stamps || picture || w->npy))
        return err_set(err, -EINVAL,
                       "--scopes is a table of its own: without --stamps, --plot, "
                       "--gnuplot and --npy");
    int code = picture || w->npy ? picture_alone(w->plot      ? "--plot"
                                                 : w->gnuplot ? "--gnuplot"
                                                              : "--npy",
                                                 o->output, err)
                                 : 0;
    if (code)
        return code;
    o->query.has_mark = w->label ? w->label : "";
    code = answer_process(r, &o->query, &profile, err);
    if (!code && w->scopes)
        return show_scopes(o, r, profile, w->label, err);
    /* For a process without marks, text shows stamps instead of nothing; data has what was asked
     * for. */
    bool stamps = !code && (w->stamps || (o->output == OUTPUT_TEXT && !w->label &&
                                          (!profile->marks.count || picture)));
    if (!code)
        code = mark_rows_init(&rows, r, profile, w->label, stamps, err);
    if (code)
        return code;
    const struct document document = marks_document(&rows);
    code = picture || w->npy ? write_files(&rows, w, err) : command_write(o, &document);
    mark_rows_release(&rows);
    return code;
}

int cmd_marks(int argc, char **argv)
{
    static const struct option extra[] = {{"label", required_argument, NULL, OPT_LABEL},
                                          {"stamps", no_argument, NULL, OPT_STAMPS},
                                          {"scopes", no_argument, NULL, OPT_SCOPES},
                                          {"plot", required_argument, NULL, OPT_PLOT},
                                          {"gnuplot", required_argument, NULL, OPT_GNUPLOT},
                                          {"npy", required_argument, NULL, OPT_NPY},
                                          {0}};
    static const char *const common[] = {"process", "json", "csv", "help", NULL};
    struct wanted wanted = {0};
    const struct query_command command = {.name = "marks",
                                          .timeline = true,
                                          .help = print_help,
                                          .not_combined = true,
                                          .files = 1,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    return command_ask(argc, argv, &command, ask);
}
