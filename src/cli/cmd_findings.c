/* tidemark findings FILE: the short list of what is worth fixing. */
#include "cli/commands.h"

#include <stdio.h>

#include "cli/command.h"
#include "cli/terminal.h"
#include "answer/findings.h"

static void print_help(void)
{
    puts("usage: tidemark findings FILE [OPTIONS]\n"
         "\n"
         "Lists what is worth fixing in a recording, the most worthwhile first: at most nine "
         "findings,\n"
         "each with its number and its source line, the first three with the reason and what to "
         "do. A\n"
         "program without problems has none.\n"
         "\n"
         "  --top N          at most N findings, each with reason and "
         "advice\n" QUERY_PRESETS_FOCUS_HELP "  --thread NAME    only this thread (name or id)\n"
         "  --python-only, --native-only   list only Python, or only native, frames\n"
         "  --process PID    this process alone (PID#N: its N-th program), or all as one\n"
         "  --json, --csv    for scripts\n"
         "  --help           this text\n"
         "\n"
         "Examples:\n"
         "  tidemark findings app.tide\n"
         "  tidemark findings app.tide --ignore 'Cache::' --top 3\n"
         "  tidemark findings app.tide --json");
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    struct findings_all findings;
    struct strbuf out = {0};
    size_t most = o->top_given ? o->query.top : 0;
    int code = findings_all_init(&findings, r, &o->query, 0, err);
    if (code)
        return code;
    if (o->output == OUTPUT_JSON) {
        findings_json(&findings, most, &out);
    } else if (o->output == OUTPUT_CSV) {
        findings_csv(&findings, most, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        findings_text(&findings, o->files.items[0], most, &style, &out);
    }
    findings_all_release(&findings);
    return command_print("findings", &out);
}

int cmd_findings(int argc, char **argv)
{
    static const char *const common[] = {"top",   "within", "ignore",  "fold",        "no-fold",
                                         "merge", "thread", "process", "python-only", "native-only",
                                         "json",  "csv",    "help",    NULL};
    static const struct query_command command = {
        .name = "findings", .help = print_help, .files = 1, .only = common, .presets = true};
    return command_ask(argc, argv, &command, ask);
}
