/* tidemark annotate FILE FUNCTION: the lines of a function, and its instructions, with their share.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "export/annotate_html.h"
#include "model/sample_sums.h"
#include "answer/annotate.h"

enum { OPT_ASM = QUERY_EXTRA, OPT_HTML, OPT_CONTEXT, OPT_LIBRARY, OPT_SOURCE_PATH };

static const struct option extra[] = {{"asm", no_argument, NULL, OPT_ASM},
                                      {"html", required_argument, NULL, OPT_HTML},
                                      {"context", required_argument, NULL, OPT_CONTEXT},
                                      {"library", required_argument, NULL, OPT_LIBRARY},
                                      {"source-path", required_argument, NULL, OPT_SOURCE_PATH},
                                      {0}};

#define CONTEXT 5 /* lines */

struct wanted {
    bool code;
    const char *html, *library;
    size_t context;
    struct source_paths paths;
};

static void print_help(void)
{
    puts(
        "usage: tidemark annotate FILE FUNCTION [OPTIONS]\n"
        "\n"
        "Shows the source of a function with each line's share of a metric: its own, and with what "
        "it calls.\n"
        "Lines of inlined functions are shown below the line with the call. FUNCTION is a whole "
        "name, one\n"
        "without arguments, or a regular expression that matches one function.\n"
        "\n"
        "  --metric M       as in tidemark report; so are --size, --at, --since, --process and the "
        "focus\n"
        "                   options --within, --ignore, --no-fold, --thread, --suppressions, "
        "--presets,\n"
        "                   --no-presets and --no-defaults\n"
        "  --asm            also the instructions, below their lines\n"
        "  --context N      lines around those with a value (default 5); 'all': the whole "
        "function\n"
        "  --library NAME   use the function of this program or library\n"
        "  --source-path FROM=TO   sources whose path begins with FROM are at TO now; or a folder\n"
        "                   to look for them in (repeatable)\n"
        "  --html FILE      one page for a browser, with the whole function; '-': stdout\n"
        "  --json, --csv    exact numbers for scripts\n"
        "  --help           this text\n"
        "\n"
        "Examples:\n"
        "  tidemark annotate app.tide main                            live at the end, by line\n"
        "  tidemark annotate app.tide initialise --metric faults      what made RSS grow\n"
        "  tidemark annotate app.tide 'Solver::step' --metric cpu --asm\n"
        "  tidemark annotate app.tide parse --source-path /build/app=$HOME/src/app --html a.html");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    char *end;
    switch (val) {
    case OPT_ASM:
        w->code = true;
        return 0;
    case OPT_HTML:
        w->html = argument;
        return 0;
    case OPT_CONTEXT:
        errno = 0;
        w->context = strcmp(argument, "all") == 0 ? CONTEXT_ALL : strtoul(argument, &end, 10);
        if (w->context != CONTEXT_ALL && (end == argument || *end || *argument == '-' || errno))
            return err_set(err, -EINVAL, "--context '%s' is neither a number of lines nor 'all'",
                           argument);
        return 0;
    case OPT_LIBRARY:
        w->library = argument;
        return 0;
    default:
        return source_paths_add(&w->paths, argument, err);
    }
}

static int print(const struct annotation *a, const struct wanted *w, const struct query_options *o,
                 struct err *err)
{
    struct strbuf out = {0};
    if (w->html) {
        annotate_html(a, w->code, &out);
    } else if (o->output == OUTPUT_JSON) {
        annotate_json(a, w->code, &out);
    } else if (o->output == OUTPUT_CSV) {
        annotate_csv(a, w->code, &out);
    } else {
        struct style style = style_of_stdout();
        annotate_text(a, w->code, w->context, &style, &out);
    }
    int code = picture_write(w->html, &out, err);
    strbuf_release(&out);
    return code;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct annotation annotation;
    if (w->html && o->output != OUTPUT_TEXT)
        return err_set(err, -EINVAL, "--html and %s exclude each other",
                       o->output == OUTPUT_JSON ? "--json" : "--csv");
    if (!o->metric_given)
        o->query.metric = sampled_default(r);
    const struct annotate_question question = {.query = o->query,
                                               .function = o->files.items[1],
                                               .library = w->library,
                                               .code = w->code,
                                               .paths = w->paths};
    int code = annotate(&annotation, r, &question, err);
    if (code)
        return code;
    code = print(&annotation, w, o, err);
    annotation_release(&annotation);
    return code;
}

int cmd_annotate(int argc, char **argv)
{
    static const char *const common[] = {"metric", "size",    "at",     "since",   "within",
                                         "ignore", "no-fold", "thread", "process", "json",
                                         "csv",    "help",    NULL};
    struct wanted w = {.context = CONTEXT};
    const struct query_command command = {.name = "annotate",
                                          .help = print_help,
                                          .one_process = true,
                                          .files = 2,
                                          .arguments = "FILE FUNCTION",
                                          .only = common,
                                          .extra = extra,
                                          .take = take,
                                          .context = &w};
    int status = command_ask(argc, argv, &command, ask);
    source_paths_release(&w.paths);
    return status;
}
