/* tidemark report FILE: what, by function, line, stack, library or thread. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/query_options.h"
#include "model/answer.h"
#include "model/sampled.h"
#include "answer/report.h"

#define TEXT_ROWS       20
#define TEXT_TREE_ROWS  60
#define TEXT_HISTOGRAMS 5
#define TEXT_TREE_MIN   1.0

enum { OPT_HISTOGRAM = QUERY_EXTRA };

static int take(void *context, int val, const char *text, struct err *err)
{
    struct query_options *o = context;
    (void)val; /* there is but one */
    return histogram_kind_parse(text, &o->query.histogram, err);
}

static void print_help(void)
{
    printf("usage: tidemark report FILE [OPTIONS]\n"
           "\n"
           "Shows what a recording holds: which functions allocated, how much of it is still live, "
           "what\n"
           "made the peak.\n"
           "\n"
           "%s\n"
           "Not in tidemark diff:\n"
           "  --histogram H    blocks by size or lifetime; with --by for each row\n"
           "\n"
           "Examples:\n"
           "  tidemark report app.tide                          live at the end, by function\n"
           "  tidemark report app.tide --metric peak --tree     what made the peak\n"
           "  tidemark report app.tide --since 10s --at 20s     what grew in ten seconds\n"
           "  tidemark report app.tide --metric temporary --by line\n"
           "  tidemark report app.tide --metric cpu --tree      where the time goes\n"
           "  tidemark report app.tide --histogram lifetime --by function --top 3\n"
           "  tidemark report app.tide --within 'Parser::' --ignore 'Cache' --by stack --top 3\n",
           query_options_help());
}

/* Text is for a screen, so it starts with the most important rows; data is complete. */
static void set_defaults(struct query_options *o)
{
    bool tree = o->query.shape == SHAPE_TREE;
    if (o->output != OUTPUT_TEXT)
        return;
    if (!o->top_given)
        o->query.top = tree                      ? TEXT_TREE_ROWS
                       : o->query.histogram_rows ? TEXT_HISTOGRAMS
                                                 : TEXT_ROWS;
    if (!o->min_given && tree)
        o->query.min_percent = TEXT_TREE_MIN;
}

static int print_answer(const struct answer *a, const struct query_options *o)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        report_json(a, &command_sink, &out);
    } else if (o->output == OUTPUT_CSV) {
        report_csv(a, &command_sink, &out);
    } else {
        struct style style = style_of(STDOUT_FILENO);
        report_text(a, o->files.items[0], &style, &out);
    }
    return command_print("report", &out);
}

int cmd_report(int argc, char **argv)
{
    static const struct option extra[] = {{"histogram", required_argument, NULL, OPT_HISTOGRAM},
                                          {0}};
    struct query_options o;
    const struct query_command command = {.name = "report",
                                          .files = 1,
                                          .one_process = true,
                                          .summary = true,
                                          .extra = extra,
                                          .take = take,
                                          .context = &o};
    struct err err = {{0}};
    struct recording *recording = NULL;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("report", &err, 2);
    int status = 0;
    if (o.help) {
        print_help();
        goto out;
    }
    set_defaults(&o);
    if (query_read(&o, o.files.items[0], &recording, &err)) {
        status = command_fail("report", &err, 1);
        goto out;
    }
    if (!o.metric_given && !o.query.histogram)
        o.query.metric = sampled_default(recording);
    struct answer answer;
    int code = answer_query(&answer, recording, &o.query, &err);
    if (code) {
        status = command_fail("report", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    status = print_answer(&answer, &o);
    answer_release(&answer);
out:
    recording_free(recording);
    query_options_release(&o);
    return status;
}
