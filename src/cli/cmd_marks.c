/* tidemark marks FILE: the moments that were given names, and what the process had then. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "cli/query_options.h"
#include "export/marks_plot.h"
#include "model/answer.h"
#include "answer/marks.h"
#include "answer/mark_scopes.h"
#include "store/reader.h"

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

static int print_rows(const struct mark_rows *m, enum output output)
{
    struct strbuf out = {0};
    if (output == OUTPUT_JSON) {
        marks_json(m, &command_sink, &out);
    } else if (output == OUTPUT_CSV) {
        marks_csv(m, &command_sink, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        marks_text(m, &style, &out);
    }
    return command_print("marks", &out);
}

static int show_scopes(const struct recording *r, const struct profile *p, const char *label,
                       enum output output, struct err *err)
{
    struct mark_scopes scopes;
    struct strbuf out = {0};
    int code = mark_scopes_init(&scopes, r, p, label, err);
    if (code)
        return command_fail("marks", err, 1);
    struct style style = style_of(STDOUT_FILENO);
    if (output == OUTPUT_JSON)
        mark_scopes_json(&scopes, &out);
    else if (output == OUTPUT_CSV)
        mark_scopes_csv(&scopes, &out);
    else
        mark_scopes_text(&scopes, &style, &out);
    mark_scopes_release(&scopes);
    return command_print("marks", &out);
}

/* The files that were asked for; with none of them the table is printed. */
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
                                          .files = 1,
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recording = NULL;
    const struct profile *profile;
    struct mark_rows rows;
    int status = 0;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("marks", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    if (wanted.scopes && (wanted.stamps || wanted.plot || wanted.gnuplot || wanted.npy)) {
        err_set(&err, -EINVAL,
                "--scopes is a table of its own: without --stamps, --plot, "
                "--gnuplot and --npy");
        status = command_fail("marks", &err, 2);
        goto out;
    }
    if (recording_read(o.files.items[0], &recording, &err)) {
        status = command_fail("marks", &err, 1);
        goto out;
    }
    query_tell_damage(&o, o.files.items[0], recording);
    o.query.has_mark = wanted.label ? wanted.label : "";
    int code = answer_process(recording, &o.query, &profile, &err);
    if (!code && wanted.scopes) {
        status = show_scopes(recording, profile, wanted.label, o.output, &err);
        goto out;
    }
    if (!code) {
        /* Text of a process without marks is not left empty; data is what was asked for. */
        bool picture = wanted.plot || wanted.gnuplot;
        bool stamps = wanted.stamps || (o.output == OUTPUT_TEXT && !wanted.label &&
                                        (!profile->marks.count || picture));
        code = mark_rows_init(&rows, recording, profile, wanted.label, stamps, &err);
    }
    if (code) {
        status = command_fail("marks", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    if (!wanted.plot && !wanted.gnuplot && !wanted.npy)
        status = print_rows(&rows, o.output);
    else if (write_files(&rows, &wanted, &err))
        status = command_fail("marks", &err, 1);
    mark_rows_release(&rows);
out:
    recording_free(recording);
    query_options_release(&o);
    return status;
}
