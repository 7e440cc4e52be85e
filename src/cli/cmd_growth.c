/* tidemark growth FILE: does it grow from mark to mark, by how much, and which kind of growth it
 * is. */
#include "cli/commands.h"

#include <stdio.h>

#include "cli/command.h"
#include "cli/picture.h"
#include "cli/terminal.h"
#include "export/growth_plot.h"
#include "answer/growth.h"

#define SITES_SHOWN 10

enum { OPT_MARK = QUERY_EXTRA, OPT_PER, OPT_PLOT, OPT_WHY };

struct wanted {
    const char *mark, *per, *plot;
    bool why;
};

static void print_help(void)
{
    puts(
        "usage: tidemark growth FILE [OPTIONS]\n"
        "\n"
        "Says whether the program grows from mark to mark (without marks: per second), by how\n"
        "much, since when, and which code does it. The verdict is leak, growth, mapped, shared,\n"
        "fragmentation, retention, address-space, warm-up or stable; functions follow.\n"
        "\n"
        "  --mark LABEL     marks to compare (default: the label with most marks; the collector's\n"
        "                   stamps where there are none)\n"
        "  --per KEY        also show growth per unit of a value of the marks: bytes per photon\n"
        "  --top N          at most N functions, 0: all (text: 10; otherwise all)\n"
        "  --why            also show the evidence: intervals, parts of RSS, arrays that grow\n"
        "  --plot FILE      draw live bytes, RSS and VM over time, as an "
        "SVG\n" QUERY_PRESETS_FOCUS_HELP "  --thread NAME    only what this thread allocated\n"
        "  --python-only, --native-only   list only Python, or only native, frames\n"
        "  --process PID    another process of the recording (PID#N: its N-th program)\n"
        "  --json, --csv    exact numbers for scripts; CSV has the functions\n"
        "  --help           this text\n"
        "\n"
        "Examples:\n"
        "  tidemark growth app.tide\n"
        "  tidemark growth app.tide --mark event --per photons\n"
        "  tidemark run --plant-leak 10MiB ./app && tidemark growth tidemark.app.*.tide");
}

static int take(void *context, int val, const char *argument, struct err *err)
{
    struct wanted *w = context;
    (void)err;
    if (val == OPT_WHY) {
        w->why = true;
        return 0;
    }
    *(val == OPT_MARK ? &w->mark : val == OPT_PER ? &w->per : &w->plot) = argument;
    return 0;
}

static int print_growth(const struct growth *g, const struct query_options *o, bool why)
{
    struct strbuf out = {0};
    size_t most = o->query.top;
    if (o->output == OUTPUT_JSON) {
        growth_json(g, most, &out);
    } else if (o->output == OUTPUT_CSV) {
        growth_csv(g, most, &command_sink, &out);
    } else {
        struct style style = style_of_stdout();
        growth_text(g, o->files.items[0], most, why, &style, &out);
    }
    return command_print("growth", &out);
}

static int draw(const struct growth *g, const char *file, struct err *err)
{
    struct strbuf picture = {0};
    growth_plot(g, &picture);
    int code = picture_write(file, &picture, err);
    strbuf_release(&picture);
    return code;
}

static int ask(struct query_options *o, struct recording *r, struct err *err)
{
    const struct wanted *w = o->command->context;
    struct growth growth;
    int code = w->plot ? picture_alone("--plot", o->output, err) : 0;
    if (code)
        return code;
    o->query.has_mark = w->mark ? w->mark : "";
    const struct growth_question question = {o->query, w->mark, w->per};
    code = growth_init(&growth, r, &question, err);
    if (code)
        return code;
    code = w->plot ? draw(&growth, w->plot, err) : print_growth(&growth, o, w->why);
    growth_release(&growth);
    return code;
}

int cmd_growth(int argc, char **argv)
{
    static const struct option extra[] = {{"mark", required_argument, NULL, OPT_MARK},
                                          {"per", required_argument, NULL, OPT_PER},
                                          {"plot", required_argument, NULL, OPT_PLOT},
                                          {"why", no_argument, NULL, OPT_WHY},
                                          {0}};
    static const char *const common[] = {
        "top",         "within",      "ignore", "fold", "no-fold", "merge", "process",
        "python-only", "native-only", "thread", "json", "csv",     "help",  NULL};
    struct wanted wanted = {0};
    const struct query_command command = {.name = "growth",
                                          .timeline = true,
                                          .help = print_help,
                                          .files = 1,
                                          .not_combined = true,
                                          .only = common,
                                          .presets = true,
                                          .text_rows = SITES_SHOWN,
                                          .extra = extra,
                                          .take = take,
                                          .context = &wanted};
    return command_ask(argc, argv, &command, ask);
}
