/* tidemark diff A B: the report of B minus A, matched by names. */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/query_options.h"
#include "cli/terminal.h"
#include "model/sample_sums.h"
#include "answer/diff.h"

#define TEXT_ROWS 20

static void print_help(void)
{
    printf(
        "usage: tidemark diff A B [OPTIONS]\n"
        "\n"
        "Shows the difference between recordings A and B. Functions are matched by name, not by\n"
        "address, line or library. The options apply to both recordings.\n"
        "\n"
        "%s\n"
        "Examples:\n"
        "  tidemark diff before.tide after.tide                   live at the end, by function\n"
        "  tidemark diff before.tide after.tide --metric total    who allocates more\n"
        "  tidemark diff a.tide b.tide --metric peak --by stack --top 3\n"
        "  tidemark diff a.tide b.tide --process 120,340          one process of each\n",
        query_options_help());
}

static int print_diff(const struct diff *d, enum output output)
{
    struct strbuf out = {0};
    if (output == OUTPUT_JSON) {
        diff_json(d, &command_sink, &out);
    } else if (output == OUTPUT_CSV) {
        diff_csv(d, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        diff_text(d, &style, &out);
    }
    return command_print("diff", &out);
}

int cmd_diff(int argc, char **argv)
{
    static const struct query_command command = {
        .name = "diff", .help = print_help, .files = 2, .summary = true, .text_rows = TEXT_ROWS};
    struct query_options o;
    struct err err = {{0}};
    struct recording *recordings[2] = {NULL, NULL};
    struct diff diff;
    int status = 0, code = 0;
    if (query_options_parse(&o, argc, argv, &command, &err))
        return command_fail("diff", &err, 2);
    if (o.help) {
        print_help();
        goto out;
    }
    for (int i = 0; i < 2 && !code; i++)
        code = query_read(&o, o.files.items[i], &recordings[i], &err);
    if (code) {
        status = command_fail("diff", &err, 1);
        goto out;
    }
    for (int i = 0; i < 2 && !o.metric_given && o.query.metric == METRIC_LIVE; i++)
        o.query.metric = sampled_default(recordings[i]);
    code = diff_query(&diff, (const struct recording *const *)recordings, o.files.items, &o.query,
                      &err);
    if (code) {
        status = command_fail("diff", &err, code == -EINVAL ? 2 : 1);
        goto out;
    }
    status = print_diff(&diff, o.output);
    diff_release(&diff);
out:
    recording_free(recordings[0]);
    recording_free(recordings[1]);
    query_options_release(&o);
    return status;
}
