/* tidemark report FILE: a metric by function, line, stack, library or thread. */
#include "cli/commands.h"

#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "model/answer.h"
#include "model/sample_sums.h"
#include "answer/report.h"

#define TEXT_ROWS 20

enum { OPT_HISTOGRAM = QUERY_EXTRA };

static int take(void *context, int val, const char *text, struct err *err)
{
    struct query_options *o = context;
    (void)val; /* there is only one option */
    return histogram_kind_parse(text, &o->query.histogram, err);
}

static void print_help(void)
{
    printf(
        "usage: tidemark report FILE [OPTIONS]\n"
        "\n"
        "Shows which functions allocated memory, how much of it is still live, and what made the\n"
        "peak.\n"
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

static int print_answer(const struct answer *a, const struct query_options *o)
{
    struct strbuf out = {0};
    if (o->output == OUTPUT_JSON) {
        report_json(a, &command_sink, &out);
    } else if (o->output == OUTPUT_CSV) {
        report_csv(a, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        report_text(a, o->files.items[0], &style, &out);
    }
    return command_print("report", &out);
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    struct answer answer;
    if (!o->metric_given && !o->query.histogram)
        o->query.metric = sampled_default(r);
    int code = answer_query(&answer, r, &o->query, err);
    if (code)
        return code;
    code = print_answer(&answer, o);
    answer_release(&answer);
    return code;
}

int cmd_report(int argc, char **argv)
{
    static const struct option extra[] = {{"histogram", required_argument, NULL, OPT_HISTOGRAM},
                                          {0}};
    static const struct query_command command = {.name = "report",
                                                 .help = print_help,
                                                 .files = 1,
                                                 .text_rows = TEXT_ROWS,
                                                 .one_process = true,
                                                 .summary = true,
                                                 .extra = extra,
                                                 .take = take};
    return command_ask(argc, argv, &command, ask);
}
